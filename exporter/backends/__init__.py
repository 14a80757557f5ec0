"""``exporter push``: sends the events of a folder to the backends that the OpenLineage client is configured for. Start
reading with :mod:`exporter.backends.command`.

``plan`` decides what is sent: ``index`` reads the events once and puts them in order, and ``ledger`` says what was
delivered before. ``backend`` makes senders (``http``, ``transports``) from the client's settings; ``fit`` and
``spelling`` adapt each event to the backend's ``profiles``; ``delivery`` sends several at once in their order, rejects
single events and gives up; ``attempts`` says how often each event is tried, by the backend's answers. ``secrecy`` has
these answers, without the secrets that they may repeat. ``verify`` reads back what was sent.
"""
