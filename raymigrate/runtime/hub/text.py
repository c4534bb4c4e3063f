"""Generated English-like text: deterministic, and with enough structure that a model learns something from it."""

import random

SEED = 20230815


def _words(text: str) -> list[str]:
    return text.split()


# Two topics without a common word, so that a label can depend on the topic of a sentence.
BUSINESS = _words(
    "company shares market stock percent price profit trade bank investor revenue quarter growth sale analyst dollar"
    " report chief executive board index fund rate cost deal"
)
SPORT = _words(
    "team player season game match league goal coach club cup race score field winner final record champion crowd"
    " stadium ball referee title medal captain training"
)
COMMON = _words(
    "the a of to in and is was for on that with as it by at from said new year first two last week after before over"
    " under high low big small good bad long short early late more less"
)
WORDS = [*COMMON, *BUSINESS, *SPORT]
TOPICS = (BUSINESS, SPORT)


def generator(name: str) -> random.Random:
    """A random generator of its own for each purpose, so that one asset never changes another."""
    return random.Random(f"{SEED}-{name}")


def sentence(random_: random.Random, topic: list[str], shortest: int = 6, longest: int = 14) -> str:
    """One sentence: common words and words of the topic take turns, in an order that can be predicted half the time."""
    words = [random_.choice(COMMON)]
    for position in range(1, random_.randint(shortest, longest)):
        source = topic if position % 2 else COMMON
        follower = source[WORDS.index(words[-1]) % len(source)]
        words.append(follower if random_.random() < 0.5 else random_.choice(source))
    return " ".join(words).capitalize() + " ."
