"""Change the code at random places and see which changes the tests notice.

    python -m tests.mutation --seed 7 --list                     # print 60 mutations
    python -m tests.mutation --seed 7 --save m.json              # ... and run the tests against each
    python -m tests.mutation --load m.json --root ../older --tests "" --work /tmp/older

Each mutation is one change of one expression: another comparison, a condition dropped, a negated branch, a `not`
removed, another constant. ``mutations.py`` makes them, for code that runs when a function is called and for conditions
in WHERE; messages, annotations and defaults stay. A mutation is killed if a test fails that passes without it, survived
if all tests that reach the place pass, and otherwise not decided, with the reason.

``reach.py`` finds the tests that reach a place: one run of all tests with a probe at each place. That run and its
results are kept in ``--work``, and both are continued if they were ended.
"""
