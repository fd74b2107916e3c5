"""What can go wrong, each with one sentence for people."""


class Refused(Exception):
    """The hub's no to one request. The agent goes on."""

    def __init__(self, sentence: str, code: str, repeated: bool = False) -> None:
        super().__init__(sentence)
        #: The hub's stable code, such as `NOT_FOUND` or `already_answered`.
        self.code = code
        #: Whether the request had been sent before: then the first one may have been what it collided with.
        self.repeated = repeated


class Stopped(Exception):
    """The agent cannot go on: its key is refused, or it was told to stop. Trying again would not help."""


class StreamStopped(Exception):
    """People stopped what the agent was writing."""

    def __init__(self) -> None:
        super().__init__("somebody stopped this answer")


class WaitTimeout(Exception):
    """Nobody said anything in time."""
