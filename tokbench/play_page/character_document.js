// BPE over characters of a tokenizer.json: pairs in the order of its merges, and spaces as its normalizer treats them.

// Merges only pairs that the document lists, even if another pair forms the same piece.
class CharacterPairCutter extends CharacterBpeCutter {
  constructor(data) {
    super(data);
    const spelled = data.pieces.map((piece) => (piece === null ? "" : toBytes(piece)));
    data.pairs.forEach(([left, right], rank) => this.ranks.set(pairOf(spelled[left], spelled[right]), rank));
  }

  rankOf(left, right) {
    return this.ranks.get(pairOf(left, right));
  }
}

// The byte in between never occurs in UTF-8.
function pairOf(left, right) {
  return `${left}\xff${right}`;
}

class DocumentSpaces extends SentencePieceNormalizer {
  constructor(data) {
    super(data);
    this.inFront = data.in_front;
  }

  addsPrefix(bytes, isFirst) {
    if (this.inFront === "each part") return true;
    if (this.inFront === "nothing" || bytes.startsWith(" ") || bytes.startsWith(SPACE_SIGN)) return false;
    return this.inFront === "parts without" || isFirst;
  }
}
