"""Methods of tokenizers that transformers 5 took from some classes only.

Classes that run in Python (PythonBackend, which PreTrainedTokenizer is) still have them, and some others define them
themselves; those that run in Rust (TokenizersBackend), which most names stand for now, have none of them. Read from
transformers 5.23: tokenization_python.py:868-1301, tokenization_utils_sentencepiece.py, models/*/tokenization_*.py.
"""

from collections.abc import Mapping

BUILD, TYPES = "build_inputs_with_special_tokens", "create_token_type_ids_from_sequences"
PREPARE, TRUNCATE, SEQ2SEQ = "prepare_for_model", "truncate_sequences", "prepare_seq2seq_batch"
IN_PYTHON = frozenset({BUILD, TYPES, PREPARE, TRUNCATE})
ENCODE = frozenset({"batch_encode_plus", "encode_plus"})
PYTHON_CLASSES = (
    *("Bartpho", "BertGeneration", "BertJapanese", "Bertweet", "BioGpt", "BlenderbotSmall", "ByT5", "CTRL", "Canine"),
    *("Clvp", "CpmAnt", "Cpm", "Dia", "Esm", "FSMT", "FastSpeech2Conformer", "Flaubert", "GPTNeoXJapanese", "GPTSw3"),
    *("Marian", "Mgpstr", "MistralCommon", "MyT5", "Perceiver", "Phobert", "PreTrained", "ProphetNet", "Siglip"),
    *("Speech2Text", "SpeechT5", "Vits", "Wav2Vec2CTC", "Wav2Vec2PhonemeCTC", "XLM"),
)
KEPT: Mapping[str, frozenset[str]] = {
    **{f"{name}Tokenizer": IN_PYTHON for name in PYTHON_CLASSES},
    **dict.fromkeys(
        ("BertTokenizerLegacy", "PythonBackend", "MistralCommonBackend", "SentencePieceBackend"), IN_PYTHON
    ),
    **dict.fromkeys(("M2M100Tokenizer", "PLBartTokenizer"), IN_PYTHON | {SEQ2SEQ}),
    **dict.fromkeys(("Pop2PianoTokenizer", "RoCBertTokenizer", "TapasTokenizer"), IN_PYTHON | ENCODE),
    **dict.fromkeys(("LukeTokenizer", "MLukeTokenizer"), IN_PYTHON - {TRUNCATE}),
    **dict.fromkeys(("CpmTokenizerFast", "RoFormerTokenizer", "UdopTokenizer"), frozenset({BUILD, TYPES})),
    **dict.fromkeys(("LayoutLMv2Tokenizer", "LayoutLMv3Tokenizer"), ENCODE | {BUILD}),
    **dict.fromkeys(("LayoutXLMTokenizer", "MarkupLMTokenizer"), ENCODE | {BUILD, TYPES}),
    **dict.fromkeys(("MBart50Tokenizer", "NllbTokenizer", "SeamlessM4TTokenizer"), frozenset({SEQ2SEQ})),
    "WhisperTokenizer": frozenset({BUILD}),
}
KEPT_BY_SOME = frozenset[str]().union(*KEPT.values())


def keeps(name: str, method: str) -> bool:
    """Whether a class of tokenizers still has a method that others lost.

    Args:
        name: The name of the class; one with "Fast" at its end that has no entry of its own is the same class today.
        method: The method.
    """
    return method in KEPT.get(name, KEPT.get(name.removesuffix("Fast"), frozenset()))
