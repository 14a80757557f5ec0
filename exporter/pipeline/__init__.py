"""The steps of an export: plain functions from sorted messages to messages. The engines group, sort and run them.

=============================  =====================================================================================
:mod:`~.read`                  records -> rows, each with its place; or the reason why a record cannot be read
:mod:`~.extract`               messages to a query -> its facts, and its uses of objects
:mod:`~.merge_profiles`        attributes of objects, in any order -> messages to datasets and names; their replies
:mod:`~.answer`                uses of an object in order of time -> answers to queries, its own nodes and events
:mod:`~.helpers`               parents -> the names of their jobs, sent to their children; what helpers held
:mod:`~.write`                 facts and answers of a query -> its nodes and events, validated, as text
:mod:`~.quarantine`            quarantined rows -> lines of the quarantine, each with its line or row number
=============================  =====================================================================================

:mod:`~.rounds` says in which order they run.
"""
