// A video and a PDF for uploads.

// A key frame of VP8, 64 × 48 pixels in one colour.
const frame = Buffer.from('UAMAnQEqQAAwAD8RiL5YrCkmo6KoAYAiCWcAABPxjh8IRYAA/uC3f/yS+TvztHtdjhwHAAAA', 'base64')

// element is an element of EBML: an id, a length of four bytes, the content.
function element(id, ...parts) {
  const content = Buffer.concat(parts)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(0x10000000 + content.length)
  return Buffer.concat([Buffer.from(id, 'hex'), length, content])
}

function unsigned(id, value) {
  const content = Buffer.alloc(4)
  content.writeUInt32BE(value)
  return element(id, content)
}

const text = (id, value) => element(id, Buffer.from(value))

// webm returns a video of some seconds: the same frame ten times a second.
export function webm(seconds) {
  const duration = Buffer.alloc(8)
  duration.writeDoubleBE(seconds * 1000)
  const block = (nth) => {
    const head = Buffer.from([0x81, 0, 0, 0x80]) // track 1, time in ms, a key frame
    head.writeInt16BE(nth * 100, 1)
    return element('a3', head, frame)
  }
  const head = element('1a45dfa3', text('4282', 'webm'), unsigned('4287', 2), unsigned('4285', 2))
  const info = element('1549a966', unsigned('2ad7b1', 1_000_000), element('4489', duration))
  const size = element('e0', unsigned('b0', 64), unsigned('ba', 48))
  const track = element('ae', unsigned('d7', 1), unsigned('73c5', 1), unsigned('83', 1), text('86', 'V_VP8'), size)
  const blocks = Array.from({ length: seconds * 10 }, (_, nth) => block(nth))
  const cluster = element('1f43b675', unsigned('e7', 0), ...blocks)
  return Buffer.concat([head, element('18538067', info, element('1654ae6b', track), cluster)])
}

export const film = { name: 'film.webm', bytes: webm(2).toString('base64') }

const pdf = `%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 200 200]>> endobj
trailer <</Root 1 0 R>>
`
export const paper = { name: 'paper.pdf', bytes: btoa(pdf) }
