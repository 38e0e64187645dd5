"""Train CRFsuite on the entities of a CoNLL file: attributes of configs/sequence.yaml, in Python.

The program is what users of python-crfsuite write: read the file, make a list of attributes for
each token, append the sentences, train, and write the model. What depends on a word alone is
computed once for each distinct word. Nothing else is imported, so that its CPU seconds are those of
the whole work with CRFsuite.

Usage: python -m experiments.benchmarks.crfsuite_entities TRAIN MODEL ALGORITHM SETTING=VALUE …
"""

import re
import sys
from functools import cache

REPEATS = re.compile(r"(.)\1+", re.DOTALL)


def sentences(path):
    """The words, parts of speech and labels of each sentence."""
    tokens = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip():
                tokens.append(line.split())
            elif tokens:
                yield zip(*tokens, strict=True)
                tokens = []
    if tokens:
        yield zip(*tokens, strict=True)


def kind(letter):
    """The character of a shape for a letter."""
    if letter.isdigit():
        return "0"
    return "X" if letter.isupper() else "x" if letter.isalpha() else letter


@cache
def of_word(word):
    """The attributes of a word by itself."""
    shape = REPEATS.sub(r"\1", "".join(map(kind, word)))
    found = [f"word={word}", f"lower={word.lower()}", f"brief_shape={shape}"]
    if len(word) >= 2:
        found.append(f"prefix={word[:2]}")
    if len(word) >= 3:
        found.append(f"suffix={word[-3:]}")
    return found


def attributes(words, tags):
    """The attributes of each token of a sentence."""
    before, after = ("<-1>", *words[:-1]), (*words[1:], "<+1>")
    tag_before, tag_after = ("<-1>", *tags[:-1]), (*tags[1:], "<+1>")
    columns = zip(words, before, after, tags, tag_before, tag_after, strict=True)
    return [
        [
            *of_word(word),
            f"word[-1]={previous}",
            f"word[1]={following}",
            f"word[-1]&word={previous}|{word}",
            f"pos[-1]={previous_tag}",
            f"pos={tag}",
            f"pos[1]={following_tag}",
        ]
        for word, previous, following, tag, previous_tag, following_tag in columns
    ]


def main():
    """Train on a file and write the model."""
    import pycrfsuite

    train, model, algorithm, *settings = sys.argv[1:]
    trainer = pycrfsuite.Trainer(
        algorithm=algorithm,
        params=dict(setting.split("=") for setting in settings),
        verbose=False,
    )
    for words, tags, labels in sentences(train):
        trainer.append(attributes(words, tags), labels)
    trainer.train(model)


if __name__ == "__main__":
    main()
