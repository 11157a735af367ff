"""Tiny models with random weights and a fixed seed, saved once a session; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

WINDOW = 32  # tokens that the tiny models read, special tokens included
UNKNOWN = "[UNK]"


def _save_bert(folder: Path, *, labels: int | None) -> None:
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

    words = ["kiln", "glaze", "cone", "blue", "mug", "red", "plate", "limit", "daily", "query", "passage", ":"]
    letters = [chr(point) for point in range(ord("a"), ord("z") + 1)]
    digits = [str(digit) for digit in range(10)]
    pieces = [*letters, *digits, *(f"##{piece}" for piece in (*letters, *digits))]
    vocabulary = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *pieces])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=WINDOW, **special)
    wrapped.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=WINDOW,
        initializer_range=0.5,
        **({"num_labels": labels} if labels is not None else {}),
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = BertModel(config) if labels is None else BertForSequenceClassification(config)
    model.save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sentence-transformers model: one BERT layer, 16 dimensions, a window of 32 tokens."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    bert, folder = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("tiny-embedder")
    _save_bert(bert, labels=None)
    transformer = Transformer(str(bert), max_seq_length=WINDOW)
    SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu").save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="session")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT of one label, a window of 32 tokens."""
    folder = tmp_path_factory.mktemp("tiny-cross-encoder")
    _save_bert(folder, labels=1)
    return folder


@pytest.fixture(scope="session")
def two_label_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT of two labels: a classifier, not a ranking model."""
    folder = tmp_path_factory.mktemp("two-labels")
    _save_bert(folder, labels=2)
    return folder
