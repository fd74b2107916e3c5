"""Tests of the kit against the real hub."""

import logging

# The loops of tests run in debug mode, which remarks on every step that a busy machine takes its time for.
logging.getLogger("asyncio").setLevel(logging.ERROR)
