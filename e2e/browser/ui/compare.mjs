// Compares two directories of pictures from scenarios (main.mjs, "shots"), for scripts/looks.
//
//     node ui/compare.mjs BEFORE AFTER
//
// Prints a line for each picture that is in only one directory, or in which more than a thousandth
// of the pixels differ (UI goal of 0.1 %), and last the number of compared pictures. Exits with 1
// if there was such a line or no picture.
import { readFile, readdir } from 'node:fs/promises'
import { launch } from './harness.mjs'

const most = 0.001
const [before, after] = process.argv.slice(2)
const pictures = async (directory) => new Set((await readdir(directory)).filter((name) => name.endsWith('.png')))
const [old, now] = [await pictures(before), await pictures(after)]
const found = []
let compared = 0

const browser = await launch()
const page = await browser.newPage()
for (const name of [...new Set([...old, ...now])].sort()) {
  if (!old.has(name) || !now.has(name)) {
    found.push(`${name}: only ${old.has(name) ? 'before' : 'now'}`)
    continue
  }
  const [a, b] = await Promise.all(
    [before, after].map(async (directory) => (await readFile(`${directory}/${name}`)).toString('base64')),
  )
  compared++
  const share = await page.evaluate(differing, [a, b])
  if (share > most) found.push(`${name}: ${(100 * share).toFixed(2)} % of the pixels differ`)
}
await browser.close()
for (const line of found) console.log(line)
console.log(`${compared} pictures compared, ${found.length} differ`)
process.exitCode = found.length > 0 || compared === 0 ? 1 : 0

// differing runs in the page. It returns the share of pixels of two PNGs in which any channel
// differs, 1 if the sizes differ.
async function differing(pair) {
  const [a, b] = await Promise.all(
    pair.map(async (base64) => {
      const image = new Image()
      image.src = `data:image/png;base64,${base64}`
      await image.decode()
      const canvas = new OffscreenCanvas(image.width, image.height)
      const context = canvas.getContext('2d')
      context.drawImage(image, 0, 0)
      return context.getImageData(0, 0, image.width, image.height)
    }),
  )
  if (a.width !== b.width || a.height !== b.height) return 1
  const [left, right] = [a, b].map(({ data }) => new Uint32Array(data.buffer))
  return left.reduce((count, pixel, at) => count + (pixel === right[at] ? 0 : 1), 0) / left.length
}
