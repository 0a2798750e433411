"""Carry out what a turn of a conversation needs: send requests to models, and run calls.

turn           a turn as a generator of events and effects
effects        what its driver carries out
asking         requests, and replies while they come
driver         the two drivers, synchronous and asynchronous
calls          running calls side by side: which go on at the same time, and where
outcomes       values and exceptions as results
concurrency    threads, event loops, and a semaphore that never blocks
isolation      calls in processes of their own
worker         what such a process runs
toolbox        tools by name, and running calls of them
steps          the steps of a chain, the states of an agent
decision       one decision with nothing run; the summary of a conversation
tracing        OpenTelemetry spans
"""
