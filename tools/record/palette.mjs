// PNG pictures of 8 bits a channel to pictures of at most 256 colours. Pure, but for zlib.
import { crc32 as nodeCrc32, deflateSync, inflateSync } from "node:zlib";

const kSignature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const kColours = 256;
const kChannels = 3;

const kCrcTable = Array.from({ length: 256 }, (_, at) => {
  let value = at;
  for (let bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function crc32(bytes) {
  if (nodeCrc32) return nodeCrc32(bytes);
  let value = 0xffffffff;
  for (const byte of bytes) value = kCrcTable[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

function* chunks(png) {
  if (!png.subarray(0, 8).equals(kSignature)) throw new Error("not a PNG");
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield { name: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += length + 12;
  }
}

function predicted(kind, left, up, corner) {
  if (kind === 1) return left;
  if (kind === 2) return up;
  if (kind === 3) return (left + up) >> 1;
  if (kind !== 4) return 0;
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

// { width, height, pixels }: a number 0xRRGGBB for each pixel. Transparency is ignored.
export function decode(png) {
  let [width, height, channels] = [0, 0, 0];
  const parts = [];
  for (const { name, data } of chunks(png)) {
    if (name === "IDAT") parts.push(data);
    if (name !== "IHDR") continue;
    [width, height, channels] = [data.readUInt32BE(0), data.readUInt32BE(4), { 2: 3, 6: 4 }[data[9]]];
    if (data[8] !== 8 || !channels || data[12] !== 0)
      throw new Error("PNG: accepted are RGB and RGBA of 8 bits, not interlaced");
  }
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const pixels = new Uint32Array(width * height);
  let before = new Uint8Array(stride);
  for (let y = 0; y < height; ++y) {
    const kind = raw[y * (stride + 1)];
    const row = new Uint8Array(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    for (let x = 0; x < stride; ++x) {
      const left = x < channels ? 0 : row[x - channels];
      row[x] += predicted(kind, left, before[x], x < channels ? 0 : before[x - channels]);
    }
    for (let x = 0; x < width; ++x)
      pixels[y * width + x] = (row[x * channels] << 16) | (row[x * channels + 1] << 8) | row[x * channels + 2];
    before = row;
  }
  return { width, height, pixels };
}

const channel = (colour, which) => (colour >> (16 - 8 * which)) & 255;

// The channel in which the colours differ most, and by how much.
function widest(colours) {
  let best = { which: 0, spread: -1 };
  for (let which = 0; which < kChannels; ++which) {
    let [low, high] = [255, 0];
    for (const [colour] of colours) {
      low = Math.min(low, channel(colour, which));
      high = Math.max(high, channel(colour, which));
    }
    if (high - low > best.spread) best = { which, spread: high - low };
  }
  return best;
}

// Median cut: a Map from each colour to its index, and the colours. Frequent colours stay exact.
export function paletteOf(pixels) {
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const all = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const exact = all.length <= kColours ? all.length : kColours / 2;
  const boxes = all.slice(0, exact).map((one) => [one]);
  const rest = all.slice(exact);
  const cut = rest.length ? [rest] : [];
  while (cut.length && boxes.length + cut.length < kColours) {
    const spreads = cut.map((box) => widest(box));
    const at = spreads.reduce((best, one, index) => (one.spread > (spreads[best]?.spread ?? -1) ? index : best), 0);
    if (spreads[at].spread <= 0) break;
    const of = ([colour]) => channel(colour, spreads[at].which);
    const box = cut[at].sort((a, b) => of(a) - of(b) || a[0] - b[0]);
    cut.splice(at, 1, box.slice(0, box.length >> 1), box.slice(box.length >> 1));
  }
  const index = new Map();
  const colours = [...boxes, ...cut].map((box, at) => {
    let [weight, sums] = [0, [0, 0, 0]];
    for (const [colour, count] of box) {
      index.set(colour, at);
      weight += count;
      sums = sums.map((sum, which) => sum + count * channel(colour, which));
    }
    return sums.map((sum) => Math.round(sum / weight));
  });
  return { index, colours };
}

function chunk(name, data) {
  const out = Buffer.alloc(data.length + 12);
  out.writeUInt32BE(data.length, 0);
  out.write(name, 4, "latin1");
  data.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, data.length + 8)), data.length + 8);
  return out;
}

// The same picture with a palette.
export function withPalette(png) {
  const { width, height, pixels } = decode(png);
  const { index, colours } = paletteOf(pixels);
  const raw = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; ++y)
    for (let x = 0; x < width; ++x) raw[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    kSignature, chunk("IHDR", head), chunk("PLTE", Buffer.from(colours.flat())),
    chunk("IDAT", deflateSync(raw, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0)),
  ]);
}
