// Makes the icons of the installed app, web/src/icons, of web/src/icon.svg. Run it after a change
// of the drawing:
//
//     node e2e/browser/icons.mjs
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { chromium } from 'playwright-core'
import { executablePath } from './chromium.mjs'

const src = new URL('../../web/src/', import.meta.url)
const drawing = await readFile(new URL('icon.svg', src), 'utf8')
const color = /<rect [^>]*fill="(#[0-9a-f]{6})"/.exec(drawing)[1]

// The system cuts the last two icons to its own shape, so they fill the whole square. Of the
// maskable one it shows at least the circle of 80 % in the middle.
const icons = [
  { file: 'app-192.png', size: 192, share: 1 },
  { file: 'app-512.png', size: 512, share: 1 },
  { file: 'maskable-512.png', size: 512, share: 0.8, ground: color },
  { file: 'apple-180.png', size: 180, share: 0.9, ground: color },
]

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
await mkdir(new URL('icons/', src), { recursive: true })
for (const { file, size, share, ground } of icons) {
  const page = await browser.newPage({ viewport: { width: size, height: size } })
  const inner = size * share
  await page.setContent(
    `<style>html { background: ${ground ?? 'transparent'} } body { margin: ${(size - inner) / 2}px }` +
      ` svg { display: block; width: ${inner}px; height: ${inner}px }</style>${drawing}`,
  )
  await writeFile(new URL(`icons/${file}`, src), await page.screenshot({ omitBackground: true }))
  await page.close()
}
await browser.close()
