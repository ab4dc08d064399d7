// Common code of the UI scenarios: a page in a language, a theme and a size, and the checks that it
// has no script error, no violation of its policy, no response of 5xx, and no fault of
// accessibility.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { executablePath } from '../chromium.mjs'

const fonts = fileURLToPath(new URL('../fonts.conf', import.meta.url))
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const sizes = {
  desk: { width: 1440, height: 900 },
  phone: { width: 390, height: 844 },
  small: { width: 320, height: 640 },
  narrow: { width: 820, height: 1180 },
  medium: { width: 1024, height: 768 },
  wide: { width: 2560, height: 1440 },
}
export const isPhone = (size) => size === 'phone' || size === 'small'
export const languages = ['en-US', 'zh-CN']
export const themes = ['light', 'dark']

// launch starts the browser, with additional switches. With --show-scrollbars the pages have scroll
// bars that take space, as on Windows and Linux.
export const launch = (...more) =>
  chromium.launch({
    executablePath,
    env: { ...process.env, FONTCONFIG_FILE: fonts },
    ignoreDefaultArgs: more.includes('--show-scrollbars') ? ['--hide-scrollbars'] : [],
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })

// open opens a page in a new profile. `page.faults()` and `inspect` return the faults of the page.
export async function open(browser, { language = 'en-US', theme = 'light', size = 'desk', base, ...more }) {
  const context = await browser.newContext({
    viewport: sizes[size],
    colorScheme: theme,
    locale: language,
    baseURL: base,
    bypassCSP: false,
    hasTouch: isPhone(size),
    isMobile: isPhone(size),
    reducedMotion: 'reduce',
    serviceWorkers: 'block',
    ...more,
  })
  const faults = []
  await context.exposeBinding('__violation', (_, what) => faults.push(`policy: ${what}`))
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) =>
      window.__violation(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`),
    )
  })
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  page.on('pageerror', (error) => faults.push(`script: ${error.stack || error}`))
  page.on('console', (message) => {
    // Refused requests are part of many scenarios, and the browser logs each of them. On plain http
    // it also logs that it ignores this header.
    const expected = /^Failed to load resource|^The Cross-Origin-Opener-Policy header has been ignored/
    if (message.type() === 'error' && !expected.test(message.text()))
      faults.push(`console: ${message.text()}`)
  })
  page.on('response', (response) => response.status() >= 500 && faults.push(`${response.status()} ${response.url()}`))
  page.faults = () => faults.splice(0)
  page.theme = theme
  return page
}

// inspect runs axe on the page as it is, in the theme of the scenario: WCAG 2.2 A and AA and best
// practices. It returns the faults, a line for each element. A page of the server follows the theme
// of the browser and names none: it is not `themed`.
export async function inspect(page, themed = true) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      resultTypes: ['violations'],
      preload: { assets: ['media'] }, // no rule in use needs the style sheets, which axe would load again
    }),
  )
  const found = violations.flatMap((violation) =>
    violation.nodes.map(
      (node) => `axe ${violation.id}: ${node.target.join(' ')}: ${node.failureSummary.replaceAll(/\s+/g, ' ')}`,
    ),
  )
  const shown = await page.evaluate(() => document.documentElement.dataset.theme)
  if (themed && shown !== page.theme) found.push(`the theme is ${shown}, and ${page.theme} is expected`)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  if (wide > 0) found.push(`the page scrolls sideways by ${wide} px`)
  return found
}

// picture takes a picture of the page after the visible images have loaded. With `still`, digits
// become zeros, texts that look like keys or ids become crosses, and elements that the browser
// draws by itself are hidden, so that only changes of the page differ between two runs.
export async function picture(page, path, still) {
  await page
    .waitForFunction(
      () => {
        const seen = ({ top, bottom, width }) => width > 0 && bottom > 0 && top < innerHeight
        return (
          document.fonts.status === 'loaded' &&
          document.getAnimations().every(({ playState }) => playState !== 'running') &&
          [...document.images].every((image) => image.complete || !seen(image.getBoundingClientRect()))
        )
        // a page that never comes to rest is taken as it is
      },
      undefined,
      { timeout: 5000 },
    )
    .catch(() => undefined)
  const undo = await page.evaluateHandle((still) => {
    const undo = []
    const change = (what, name, value) => {
      const was = what[name]
      if (was === value) return
      what[name] = value
      undo.unshift(() => (what[name] = was))
    }
    const plain = (text) => text.replace(/[\w-]{16,}/g, (id) => 'x'.repeat(id.length)).replace(/\d/g, '0')
    if (still) {
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      while (texts.nextNode()) change(texts.currentNode, 'data', plain(texts.currentNode.data))
      for (const field of document.querySelectorAll('input:not([type=file]), textarea'))
        change(field, 'value', plain(field.value))
      for (const drawn of document.querySelectorAll('iframe, video, svg[role=img]'))
        change(drawn.style, 'visibility', 'hidden')
    }
    return { undo: () => undo.forEach((back) => back()) }
  }, still)
  await page.screenshot({ path })
  await undo.evaluate(({ undo }) => undo())
}

// equal fails a scenario unless two values are equal.
export function equal(what, got, want) {
  if (JSON.stringify(got) !== JSON.stringify(want))
    throw new Error(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)
}

// drawn waits until the page has drawn its current state, in two frames.
export const drawn = (page) =>
  page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))

// patience is how long scenarios wait for the page, in milliseconds. It is not a limit of the page.
const patience = 90_000

// becomes fails a scenario unless a value of the page becomes the wanted one soon: a page may show
// the outcome of an action a moment after the sentence about it.
export async function becomes(what, read, want, time = patience) {
  for (const end = Date.now() + time; ;) {
    const got = await read()
    if (JSON.stringify(got) === JSON.stringify(want)) return
    if (Date.now() > end) return equal(what, got, want)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

// give hands files to the file chooser that a click opens.
export async function give(page, click, files) {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), click()])
  await chooser.setFiles(files)
}

// until polls a condition.
export async function until(what, condition, time = patience) {
  for (const end = Date.now() + time; !(await condition());) {
    if (Date.now() > end) throw new Error(`${what} did not happen in ${time} ms`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

// say reports results to the Go test that started the scenarios, a line of JSON each.
export const say = (line) => process.stdout.write(JSON.stringify(line) + '\n')
