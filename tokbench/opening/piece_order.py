"""Reorder the pieces of SentencePiece models whose tokenizer class assigns other ids.

fairseq replaces the first three pieces by four tokens of its own and appends others; Pegasus inserts 103 tokens after
the first two pieces.

Source: `XLMRobertaTokenizer` and its like, `CamembertTokenizer`, `MBartTokenizer`, `MBart50Tokenizer`, `NllbTokenizer`,
`PLBartTokenizer`, `SeamlessM4TTokenizer`, `XGLMTokenizer` and `PegasusTokenizer` of transformers 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tokbench.formats.protobuf import fields, length_field, varint_field, written_field
from tokbench.formats.sentencepiece.model import TRAINER_FIELDS, dump_piece
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.opening.piece_classes import class_of_folder
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.opening.recognition import Source

_PIECES, _TRAINER, _SELF_TEST = 1, 2, 4
_UNKNOWN, _MASK = "<unk>", "<mask>"
_REPLACED = (_UNKNOWN, "<s>", "</s>")
_FAIRSEQ = ("<s>", "<pad>", "</s>", _UNKNOWN)
_ENDS = {"cls": "<s>", "sep": "</s>"}
_ROLES = {**_ENDS, "mask": _MASK}
_MADE_UP = tuple(f"<madeupword{number}>" for number in range(7))
_PEGASUS_OFFSET, _PEGASUS_MASKS = 103, 2
_MOST_OFFSET = 10_000


@dataclass(frozen=True, slots=True)
class PieceOrder:
    """The order of pieces in a class.

    Attributes:
        replaced: the pieces at the beginning of a model that the class replaces.
        before: the tokens that replace them; `<unk>` among them is the model's own piece.
        after: the tokens that follow the last piece.
        roles: role → text of its special token, unless the files beside the model say otherwise.
    """

    replaced: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)


def piece_order(source: Source, texts: Sequence[str]) -> PieceOrder | None:
    """Return the order of the class of a folder; None if the model's ids are kept, as for a single file.

    Args:
        source: the model and the path that the user gave.
        texts: the pieces of the model, by id.
    """
    name = class_of_folder(source) or ""
    order = _BY_FILES[name](source) if name in _BY_FILES else _ALWAYS.get(name)
    if order is None or tuple(texts[: len(order.replaced)]) != order.replaced:
        return None
    added = {*order.before, *order.after} - {*order.replaced}
    return None if added & set(texts) else order


def in_order(proto: bytes, source: Source, order: PieceOrder) -> tuple[bytes, Source]:
    """Return a model with its pieces in the order of a class, and its source with the roles of the class."""
    pieces, others = [], []
    for number, value in fields(proto):
        if number == _PIECES:
            pieces.append(written_field(number, value))
        elif number != _SELF_TEST:
            others.append(written_field(number, value))
    unknown = order.replaced.index(_UNKNOWN) if _UNKNOWN in order.before else None
    ordered = [
        *(
            pieces[unknown] if text == _UNKNOWN and unknown is not None else _control(text)
            for text in order.before
        ),
        *pieces[len(order.replaced) :],
        *map(_control, order.after),
    ]
    options = {"vocab_size": len(ordered), **_ids(order)}
    # Of a repeated field, protobuf readers take the last one; of a repeated message, they merge the fields.
    trainer = b"".join(varint_field(TRAINER_FIELDS[name].number, value) for name, value in options.items())
    config = replace(source.config, roles={**order.roles, **source.config.roles})
    reordered = b"".join([*ordered, *others, length_field(_TRAINER, trainer)])
    return reordered, replace(source, config=config)


def _ids(order: PieceOrder) -> Mapping[str, int]:
    """Return the trainer options that give the ids of special tokens."""
    roles = {"unk": _UNKNOWN, "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
    return {f"{role}_id": order.before.index(text) for role, text in roles.items() if text in order.before}


def _control(text: str) -> bytes:
    return dump_piece(ModelPiece(text, 0.0, PieceType.CONTROL))


def _nllb(source: Source) -> PieceOrder:
    """Order the languages as the files list them: versions of the class differ in their default order."""
    languages = source.config.additional_special_tokens or _NLLB.split()
    after = () if source.config.added_tokens else (*languages, _MASK)
    return PieceOrder(_REPLACED, _FAIRSEQ, after, _ROLES)


def _plbart(source: Source) -> PieceOrder | None:
    match _settings(source).get("language_codes", "base"):
        case "base":
            return PieceOrder(_REPLACED, _FAIRSEQ, (*_PLBART.split(), _MASK), _ROLES)
        case "multi":
            return PieceOrder(_REPLACED, _FAIRSEQ, tuple(_PLBART_MULTI.split()), _ENDS)
    return None


def _pegasus(source: Source) -> PieceOrder | None:
    settings = _settings(source)
    offset = settings.get("offset", _PEGASUS_OFFSET)
    if type(offset) is not int or not _PEGASUS_MASKS <= offset <= _MOST_OFFSET:
        return None
    sentence = settings.get("mask_token_sent")
    word = source.config.roles.get("mask", "<mask_2>")
    masks = (sentence if isinstance(sentence, str) else "<mask_1>", word)
    unused = (f"<unk_{number}>" for number in range(_PEGASUS_MASKS, offset))
    roles = {"eos": "</s>", "pad": "<pad>", "unk": _UNKNOWN, "mask": word}
    return PieceOrder(("<pad>", "</s>"), ("<pad>", "</s>", *masks, *unused), (), roles)


def _settings(source: Source) -> Mapping[str, Any]:
    return json_beside(source.files[0].parent / "tokenizer_config.json")


_MBART = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP "
    "nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
"""The languages of a class, separated by spaces, in the order of the ids of their tokens."""

_MBART50 = (
    f"{_MBART} "
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE "
    "ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)

_NLLB = (
    "ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab ars_Arab "
    "ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl "
    "bem_Latn ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn "
    "cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn "
    "est_Latn eus_Latn ewe_Latn fao_Latn pes_Arab fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn "
    "gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn "
    "ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab "
    "kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn "
    "kon_Latn kor_Hang kmr_Latn lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn "
    "lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn mkd_Cyrl plt_Latn mlt_Latn "
    "mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn "
    "nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab quy_Latn "
    "ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn smo_Latn "
    "sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn "
    "szl_Latn tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn "
    "tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn "
    "vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zul_Latn"
)

_PLBART = "__java__ __python__ __en_XX__"
_PLBART_MULTI = f"{_PLBART} __javascript__ __php__ __ruby__ __go__"

_XLM_ROBERTA = PieceOrder(_REPLACED, _FAIRSEQ, (_MASK,), _ROLES)
_ALWAYS = {
    "XLMRobertaTokenizer": _XLM_ROBERTA,
    "LayoutXLMTokenizer": _XLM_ROBERTA,
    "MLukeTokenizer": _XLM_ROBERTA,
    "CamembertTokenizer": PieceOrder(
        (_UNKNOWN,),
        ("<s>NOTUSED", "<pad>", "</s>NOTUSED", _UNKNOWN, "<unk>NOTUSED"),
        (_MASK,),
        {"bos": "<s>", "eos": "</s>", "pad": "<pad>", **_ROLES},
    ),
    "XGLMTokenizer": PieceOrder(_REPLACED, _FAIRSEQ, _MADE_UP, _ENDS),
    "SeamlessM4TTokenizer": PieceOrder(_REPLACED, ("<pad>", _UNKNOWN, "<s>", "</s>"), (), _ENDS),
    "MBartTokenizer": PieceOrder(_REPLACED, _FAIRSEQ, (*_MBART.split(), _MASK), _ROLES),
    "MBart50Tokenizer": PieceOrder(_REPLACED, _FAIRSEQ, (*_MBART50.split(), _MASK), _ROLES),
}
_BY_FILES: Mapping[str, Callable[[Source], PieceOrder | None]] = {
    "NllbTokenizer": _nllb,
    "PLBartTokenizer": _plbart,
    "PegasusTokenizer": _pegasus,
}
