"""``exporter push``: the events of a folder to the backends that the OpenLineage client is set up for. Start with
:mod:`exporter.openlineage.push.command`.

``index`` reads the events once and puts them in order; ``backend`` makes senders from the client's settings;
``fit`` holds each event against the backend's ``profiles``; ``delivery`` sends, tries again, sets aside and gives up;
``ledger`` remembers what was delivered; ``words`` tells a person.
"""
