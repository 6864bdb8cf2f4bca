// A tokenizer from its data: special tokens around one of the models.

const MODELS = {
  byte_level: (data) => new ByteLevelModel(data),
  wordpiece: (data) => new WordPieceModel(data),
  character_bpe: (data) => new SentencePieceModel(data, CharacterBpeCutter),
  character_document: (data) => new SentencePieceModel(data, CharacterPairCutter, DocumentSpaces),
  unigram_document: (data) => new UnigramDocumentModel(data),
  unigram: (data) => new SentencePieceModel(data, UnigramCutter),
};

// What a text became: ids, and for each where it is in bytes of the text, and of which word.
class Tokens {
  constructor() {
    this.ids = [];
    this.starts = [];
    this.stops = [];
    this.wordOf = [];
    this.words = [];
    this.isNormalized = false;  // whether places count in another text than the given one
    this.reached = 0;
  }

  beginWord(bytes) {
    this.words.push(bytes);
  }

  // A token that begins where the one before it stops.
  add(id, size) {
    this.addAt(id, this.reached, this.reached + size);
    this.reached += size;
  }

  // A token that is found before anything else, which is of no word.
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

  // The tokens of a text; `policy` says what the text of a special token becomes: "text", "encode" or "raise".
  encode(text, policy = "text") {
    const out = new Tokens();
    for (const part of this.special.cut(text, policy)) this.encodePart(part, out, policy);
    return out;
  }

  // Appends the tokens of a part of a text, which may be a token itself.
  encodePart({ text, token }, out, policy = "text") {
    if (token === null) this.model.encode(text, out, policy);
    else out.addSpecial(token[1], sizeOf(text));
  }

  isSpecial(id) {
    return this.specialIds.has(id);
  }

  // How the vocabulary spells an ordinary token, or null where it spells bytes.
  spellingOf(id) {
    return this.specialIds.has(id) || this.model.spellingOf === undefined ? null : this.model.spellingOf(id);
  }

  // The bytes of a token; those of a special one are its text's.
  bytesOf(id) {
    return this.specialIds.has(id) ? toBytes(this.specialIds.get(id)) : this.model.bytesOf(id);
  }
}

// A text without halves of surrogate pairs, which have no UTF-8.
function wellFormed(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
