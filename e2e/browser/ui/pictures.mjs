// Pictures and audio files for uploads: colour gradients and a hum.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'

function chunk(kind, data) {
  const whole = Buffer.alloc(12 + data.length)
  whole.writeUInt32BE(data.length)
  whole.write(kind, 4)
  data.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length)
  return whole
}

// encoded returns a picture as PNG. pixel returns the channels of a pixel, from 0 to 255: red,
// green and blue, and also alpha if there are four.
function encoded(width, height, channels, pixel) {
  const rows = Buffer.alloc((width * channels + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows.set(pixel(x, y), y * (width * channels + 1) + 1 + x * channels)
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  head.set([8, channels === 4 ? 6 : 2, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

// png returns a picture of a hue from 0 to 1, with a light from 0 to 1 by position.
export function png(width, height, hue, lightAt = (x, y) => 0.45 + 0.55 * ((x / width + y / height) / 2)) {
  const channel = (shift, light) => Math.round(255 * light * (0.55 + 0.45 * Math.cos(2 * Math.PI * (hue + shift))))
  return encoded(width, height, 3, (x, y) => {
    const light = lightAt(x, y)
    return [channel(0, light), channel(1 / 3, light), channel(2 / 3, light)]
  })
}

// glass returns a picture in one colour, transparent at the left and opaque at the right.
export const glass = (width, height) =>
  encoded(width, height, 4, (x) => [60, 120, 200, Math.round((255 * x) / (width - 1))])

// album writes a folder of `count` pictures below dir and returns its path.
export async function album(dir, name, count) {
  const folder = join(dir, name)
  await mkdir(folder, { recursive: true })
  for (let n = 1; n <= count; n++)
    await writeFile(join(folder, `photo-${String(n).padStart(2, '0')}.png`), png(320, 240, n / count))
  return folder
}

// wave returns a quiet hum of some seconds, as WAV with 8 bits.
export function wave(seconds) {
  const rate = 8000
  const head = Buffer.alloc(44)
  head.write('RIFF')
  head.writeUInt32LE(36 + seconds * rate, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20) // PCM
  head.writeUInt16LE(1, 22) // one channel
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(seconds * rate, 40)
  return Buffer.concat([
    head,
    Buffer.from(Array.from({ length: seconds * rate }, (_, n) => 128 + Math.round(4 * Math.sin(n / 6)))),
  ])
}
