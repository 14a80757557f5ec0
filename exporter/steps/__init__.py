"""The steps of an export as plain functions from messages in order to messages; the engines bring them together.

====================  ==============================================================================================
:mod:`~.reading`      records -> rows, each with its place; what cannot be read, with its reason
:mod:`~.telling`      rows of a query -> its facts, and what it mentions to things
:mod:`~.gathering`    what is known of objects, in no order -> what datasets and names hear; what these answer
:mod:`~.answering`    things hear their mentions in the order of time -> answers to queries, their own nodes and events
:mod:`~.naming`       parents -> the names of their jobs, told to their children
:mod:`~.writing`      facts and answers of a query -> its nodes and events, validated, as text
:mod:`~.numbering`    what was quarantined -> lines of the quarantine, each with its line or row
====================  ==============================================================================================
"""
