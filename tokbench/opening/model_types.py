"""The tokenizer class that `transformers` uses for the `model_type` of a `config.json` if no file names a class.

Source: `TOKENIZER_MAPPING_NAMES` of transformers 4 and, for newer models, 5.
"""

from __future__ import annotations

_MODEL_TYPES = {
    "AlbertTokenizer": "albert yoso",
    "BartTokenizer": "bart florence2",
    "BarthezTokenizer": "barthez",
    "BartphoTokenizer": "bartpho",
    "BertGenerationTokenizer": "bert-generation",
    "BertJapaneseTokenizer": "bert-japanese",
    "BertweetTokenizer": "bertweet",
    "BigBirdTokenizer": "big_bird",
    "BioGptTokenizer": "biogpt",
    "BlenderbotSmallTokenizer": "blenderbot-small",
    "BlenderbotTokenizer": "blenderbot",
    "CLIPTokenizer": "aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 xclip",
    "CTRLTokenizer": "ctrl",
    "CamembertTokenizer": "camembert",
    "CanineTokenizer": "canine",
    "ClvpTokenizer": "clvp",
    "CodeGenTokenizer": "codegen phi",
    "CodeLlamaTokenizer": "code_llama",
    "CpmAntTokenizer": "cpmant",
    "CpmTokenizer": "cpm",
    "DebertaTokenizer": "deberta",
    "DebertaV2Tokenizer": "deberta-v2",
    "DiaTokenizer": "dia",
    "ErnieMTokenizer": "ernie_m",
    "EsmTokenizer": "esm",
    "FNetTokenizer": "fnet",
    "FSMTTokenizer": "fsmt",
    "FlaubertTokenizer": "flaubert",
    "FunnelTokenizer": "funnel",
    "GPT2Tokenizer": "blip-2 gpt2 gpt_bigcode gpt_neo gptj instructblip opt starcoder2",
    "GPTNeoXJapaneseTokenizer": "gpt_neox_japanese",
    "GPTSanJapaneseTokenizer": "gptsan-japanese",
    "GPTSw3Tokenizer": "gpt-sw3",
    "GemmaTokenizer": "gemma gemma2 gemma3 gemma3_text gemma3n recurrent_gemma shieldgemma2 t5gemma",
    "HerbertTokenizer": "herbert",
    "JukeboxTokenizer": "jukebox",
    "LEDTokenizer": "led",
    "LayoutLMv2Tokenizer": "layoutlmv2",
    "LayoutLMv3Tokenizer": "layoutlmv3",
    "LayoutXLMTokenizer": "layoutxlm",
    "LlamaTokenizer": "llama mistral mixtral phi3",
    "LongformerTokenizer": "longformer",
    "LukeTokenizer": "luke",
    "M2M100Tokenizer": "m2m_100",
    "MBart50Tokenizer": "mbart50",
    "MBartTokenizer": "mbart",
    "MLukeTokenizer": "mluke",
    "MPNetTokenizer": "mpnet",
    "MarianTokenizer": "marian",
    "MarkupLMTokenizer": "markuplm",
    "MgpstrTokenizer": "mgp-str",
    "MvpTokenizer": "mvp",
    "MyT5Tokenizer": "myt5",
    "NllbTokenizer": "nllb nllb-moe",
    "OpenAIGPTTokenizer": "openai-gpt",
    "PLBartTokenizer": "plbart",
    "PegasusTokenizer": "bigbird_pegasus pegasus pegasus_x",
    "PerceiverTokenizer": "perceiver",
    "PhobertTokenizer": "phobert",
    "Pop2PianoTokenizer": "pop2piano",
    "ProphetNetTokenizer": "prophetnet",
    "Qwen2Tokenizer": (
        "colqwen2 internvl qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr qwen3_moe "
        "qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe"
    ),
    "RagTokenizer": "rag",
    "ReformerTokenizer": "reformer",
    "RemBertTokenizer": "rembert",
    "RoFormerTokenizer": "roformer",
    "RobertaTokenizer": "bridgetower clap data2vec-text ibert mega mra roberta roberta-prelayernorm",
    "SeamlessM4TTokenizer": "seamless_m4t seamless_m4t_v2",
    "SiglipTokenizer": "siglip",
    "Speech2TextTokenizer": "speech_to_text",
    "SpeechT5Tokenizer": "speecht5",
    "SplinterTokenizer": "splinter",
    "T5Tokenizer": "longt5 mt5 musicgen musicgen_melody switch_transformers t5 umt5",
    "TapasTokenizer": "tapas",
    "TransfoXLTokenizer": "transfo-xl",
    "UdopTokenizer": "udop",
    "VitsTokenizer": "vits",
    "Wav2Vec2CTCTokenizer": "data2vec-audio hubert unispeech unispeech-sat wav2vec2 wav2vec2-bert wav2vec2-conformer",
    "Wav2Vec2PhonemeCTCTokenizer": "wav2vec2_phoneme",
    "WhisperTokenizer": "whisper",
    "XGLMTokenizer": "xglm",
    "XLMProphetNetTokenizer": "xlm-prophetnet",
    "XLMRobertaTokenizer": "metaclip_2 xlm-roberta xlm-roberta-xl xmod",
    "XLMTokenizer": "xlm",
    "XLNetTokenizer": "xlnet",
}
CLASS_OF_MODEL_TYPE = {
    model_type: name for name, model_types in _MODEL_TYPES.items() for model_type in model_types.split()
}
"""`model_type` → class."""

_FILE_AS_IT_IS = (
    "arctic aria beam bigbird_pegasus chatlm cohere_asr ernie4_5 ernie4_5_moe flex_olmo fuyu glm glm4 glm4_moe "
    "glm4_moe_lite glm4v glm4v_moe glm_image glmasr got_ocr2 gpt_bigcode granite granitemoe granitemoehybrid "
    "granitemoeshared h2ovl_chat hyperclovax hyperclovax_vlm internlm2 internlm3 iquestcoder jamba kimi_k25 "
    "kimi_linear kosmos-2 llava llava_next mimo_v2_flash minicpm3 minicpmv minimax_m2 ministral ministral3 "
    "mistral mistral3 mixtral modernbert modernbert-decoder molmo molmo2 nemotron nystromformer olmo2 olmo3 "
    "olmo_hybrid opencua openvla paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral smolvlm "
    "stablelm step3_vl umt5 vipllava voxtral xlm-roberta-xl"
)
FILE_AS_IT_IS = frozenset(_FILE_AS_IT_IS.split())
"""`model_type` of models of which transformers 5.24 opens the tokenizer.json as it is, whatever class is named.

Source: `TOKENIZER_MAPPING_NAMES` and `MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS` of transformers 5.
"""
