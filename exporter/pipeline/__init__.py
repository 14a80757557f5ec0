"""The steps of an export: plain functions from sorted messages to messages. The engines group, sort and run them.

=============================  =====================================================================================
:mod:`~.read`                  records -> rows, each with its place; or the reason why a record cannot be read
:mod:`~.extract`               messages to a query -> its facts, and its uses of objects
:mod:`~.merge_profiles`        attributes of objects, in any order -> messages to datasets and names; their replies,
                               and the events of datasets
:mod:`~.clones`                what CLONE, DROP and UNDROP of schemas and databases do to the objects in them
:mod:`~.answer`                uses of an object in order of time -> answers to queries; the nodes of things
:mod:`~.helpers`               parents -> the names of their jobs, sent to their children; what helpers held
:mod:`~.write`                 facts and answers of a query -> its nodes and events, validated, as text
:mod:`~.recurring`             a cache of the nodes of statements that run again
:mod:`~.daily`                 with ``--reads daily``: the reads of queries -> the nodes of each day
:mod:`~.neighbourhood`         nodes around an object -> the results of a user's shapes that look at them
:mod:`~.texts`                 nodes as text in each syntax, pieces of files, the catalog
:mod:`~.quarantine`            quarantined rows -> lines of the quarantine, each with its line or row number
:mod:`~.updates`               which day a row belongs to, and what the next day needs
=============================  =====================================================================================

:mod:`~.rounds` says in which order they run. :mod:`~.messages` has the messages and their receivers, :mod:`~.job` the
settings of the steps, :mod:`~.outcome` the counts.
"""
