// Opens pages in headless Chromium, each in its own context: without cookies or cache of other
// pages.
//
//     node render.mjs URL...
//
// Prints a JSON array with an object for each page: {"url", "images": [{"src", "width",
// "height"}]}, the natural size in pixels of every <img>, 0 for one that did not render. Any host
// that ends in .test is this machine.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { executablePath } from './chromium.mjs'

const home = await mkdtemp(join(tmpdir(), 'larder-chromium-'))
const browser = await chromium.launch({
  executablePath,
  headless: true,
  env: { ...process.env, HOME: home },
  args: [
    '--no-sandbox',
    '--disable-dev-shm-usage',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--no-proxy-server',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--host-resolver-rules=MAP *.test 127.0.0.1',
  ],
})
try {
  const results = []
  for (const url of process.argv.slice(2)) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(url, { waitUntil: 'load' })
    const images = await page.evaluate(() =>
      Promise.all(
        [...document.images].map(async (image) => {
          await image.decode().catch(() => {}) // a broken image keeps its size of 0
          return { src: image.src, width: image.naturalWidth, height: image.naturalHeight }
        }),
      ),
    )
    results.push({ url, images })
    await context.close()
  }
  console.log(JSON.stringify(results))
} finally {
  await browser.close()
  await rm(home, { recursive: true, force: true })
}
