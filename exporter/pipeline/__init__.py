"""The steps of an export: plain functions from sorted messages to messages. The engines group, sort and run them.

====================  ==============================================================================================
:mod:`~.reading`      records -> rows, each with its place; or the reason why a record cannot be read
:mod:`~.hearing`      messages to a query -> its rows, lines and children, by account
:mod:`~.telling`      rows of a query -> its facts, and its mentions of things
:mod:`~.gathering`    attributes of objects, in any order -> messages to datasets and names; their replies
:mod:`~.answering`    mentions of a thing in order of time -> answers to queries, its own nodes and events
:mod:`~.naming`       parents -> the names of their jobs, sent to their children
:mod:`~.writing`      facts and answers of a query -> its nodes and events, validated, as text
:mod:`~.numbering`    quarantined rows -> lines of the quarantine, each with its line or row number
====================  ==============================================================================================
"""
