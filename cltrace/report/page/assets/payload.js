// Decoder of the columns that `columns.py` packed.

/** Return the bytes of base64 text. */
function bytesOf(text) {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes;
}

/** Inflate a zlib stream. */
async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Return a column: 32-bit numbers where they suffice, else doubles, which are exact up to 2^53. */
function column(bytes, { offset_bytes: offset, count, width_bytes: width, is_differences: isDifferences }) {
  const values = width <= 3 && !isDifferences ? new Int32Array(count) : new Float64Array(count);
  let sum = 0;
  for (let at = 0; at < count; at += 1) {
    let code = 0;
    for (let plane = width - 1; plane >= 0; plane -= 1) {
      code = code * 256 + bytes[offset + plane * count + at];
    }
    const value = code % 2 ? -(code + 1) / 2 : code / 2;
    sum = isDifferences ? sum + value : value;
    values[at] = sum;
  }
  return values;
}

/** Return all columns by name. */
export async function unpackColumns(layouts, text) {
  const bytes = await inflate(bytesOf(text));
  return Object.fromEntries(layouts.map((layout) => [layout.name, column(bytes, layout)]));
}
