"""``exporter push``: sends the events of a folder to the backends that the OpenLineage client is configured for. Start
reading with :mod:`exporter.openlineage.push.command`.

``index`` reads the events once and puts them in order; ``backend`` makes senders from the client's settings; ``fit``
and ``spelling`` adapt each event to the backend's ``profiles``; ``delivery`` sends, retries, rejects single events and
gives up, in the ``order`` that the events allow; ``ledger`` records what was delivered.
"""
