/** WordPiece: texts to numbers, as tfx.model_zoo.sentence_encoder.wordpiece does it in Python. */

const LONGEST = 100;
const ALONE = /[\p{P}!-/:-@[-`{-~\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u{20000}-\u{2fa1f}]/u;

/** Words in lower case without accents; each punctuation mark and Chinese character alone. */
export function words(text) {
  const found = [];
  let inside = false;
  for (const raw of text) {
    if (raw === '\ufffd' || (/\p{C}/u.test(raw) && !'\t\n\r'.includes(raw))) continue;
    for (const char of raw.toLowerCase().normalize('NFD')) {
      if (/\p{Mn}/u.test(char)) continue;
      if (/\s/u.test(char)) inside = false;
      else if (ALONE.test(char)) {
        found.push(char);
        inside = false;
      } else if (inside) found[found.length - 1] += char;
      else {
        found.push(char);
        inside = true;
      }
    }
  }
  return found;
}

export class WordPiece {
  /** @param {string[]} vocabulary The pieces; one that goes on inside of a word begins with ##. */
  constructor(vocabulary) {
    this.numbers = new Map(vocabulary.map((piece, i) => [piece, i]));
  }

  /** Numbers of the pieces between [CLS] and [SEP], at most `length` in all. */
  encode(text, length) {
    const pieces = words(text).flatMap((word) => this.pieces(word));
    return [this.numbers.get('[CLS]'), ...pieces.slice(0, length - 2), this.numbers.get('[SEP]')];
  }

  pieces(word) {
    const chars = Array.from(word);
    const unknown = [this.numbers.get('[UNK]')];
    if (chars.length > LONGEST) return unknown;
    const found = [];
    for (let start = 0; start < chars.length;) {
      let end = chars.length;
      const piece = () => (start ? '##' : '') + chars.slice(start, end).join('');
      while (end > start && !this.numbers.has(piece())) end--;
      if (end === start) return unknown;
      found.push(this.numbers.get(piece()));
      start = end;
    }
    return found;
  }

  /** Several texts as the two inputs of the encoder. */
  batch(texts, length) {
    const rows = texts.map((text) => this.encode(text, length));
    const time = Math.max(...rows.map((row) => row.length));
    const shape = [rows.length, time];
    const tokens = new BigInt64Array(rows.length * time).fill(BigInt(this.numbers.get('[PAD]')));
    const mask = new BigInt64Array(rows.length * time);
    rows.forEach((row, i) =>
      row.forEach((number, j) => {
        tokens[i * time + j] = BigInt(number);
        mask[i * time + j] = 1n;
      }),
    );
    return { tokens: { data: tokens, shape }, mask: { data: mask, shape } };
  }
}
