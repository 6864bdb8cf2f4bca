// A tokenizer built from its data: special tokens, and one of the models.

const MODELS = {
  byte_level: (data) => new ByteLevelModel(data),
  wordpiece: (data) => new WordPieceModel(data),
  character_bpe: (data) => new SentencePieceModel(data, CharacterBpeCutter),
  character_document: (data) => new SentencePieceModel(data, CharacterPairCutter, DocumentSpaces),
  unigram_document: (data) => new UnigramDocumentModel(data),
  unigram: (data) => new SentencePieceModel(data, UnigramCutter),
};

// The tokens of a text: ids, their offsets in bytes of the text, and their words.
class Tokens {
  constructor() {
    this.ids = [];
    this.starts = [];
    this.stops = [];
    this.wordOf = [];
    this.words = [];
    this.isNormalized = false;  // whether offsets refer to a normalized text
    this.reached = 0;
  }

  beginWord(bytes) {
    this.words.push(bytes);
  }

  // Appends a token that starts at the end of the previous one.
  add(id, size) {
    this.addAt(id, this.reached, this.reached + size);
    this.reached += size;
  }

  // Appends a special token, which belongs to no word.
  addSpecial(id, size) {
    this.words.push(null);
    this.add(id, size);
  }

  addAt(id, start, stop) {
    this.ids.push(id);
    this.starts.push(start);
    this.stops.push(stop);
    this.wordOf.push(this.words.length - 1);
  }
}

class PageTokenizer {
  constructor(data) {
    this.name = data.name;
    this.data = data;
    this.special = new SpecialTokens(data.special);
    this.specialIds = new Map(data.special.map((each) => [each[1], each[0]]));
    this.model = MODELS[data.model](data);
    this.chat = data.chat?.gaps === undefined ? null : new ChatEncoder(this, data.chat);
  }

  // Encodes a text; `policy` is the treatment of the text of a special token: "text", "encode" or "raise".
  encode(text, policy = "text") {
    const out = new Tokens();
    for (const part of this.special.cut(text, policy)) this.encodePart(part, out, policy);
    return out;
  }

  // Appends the tokens of a part of a text, which may be an added token.
  encodePart({ text, token }, out, policy = "text") {
    if (token === null) this.model.encode(text, out, policy);
    else out.addSpecial(token[1], sizeOf(text));
  }

  isSpecial(id) {
    return this.specialIds.has(id);
  }

  // Returns an ordinary token's text in the vocabulary, or null if the vocabulary contains bytes.
  spellingOf(id) {
    return this.specialIds.has(id) || this.model.spellingOf === undefined ? null : this.model.spellingOf(id);
  }

  // Returns the bytes of a token; for a special token those of its text.
  bytesOf(id) {
    return this.specialIds.has(id) ? toBytes(this.specialIds.get(id)) : this.model.bytesOf(id);
  }
}

// Replaces unpaired surrogates, which cannot be encoded in UTF-8.
function wellFormed(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
