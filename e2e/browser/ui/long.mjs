// Slow scenarios and measurements: many files, large files. Only a full run contains them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFolder, enter } from './files.mjs'
import { once } from './forms.mjs'
import { jumpToMiddle, scroll } from './frames.mjs'
import { equal, open, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { api } from './stranger.mjs'

// The requests of the first screen until its first tile is shown. web/test/budget.test.ts checks
// the size of its files.
async function asks(page, config) {
  await enter(page, config, '/public')
  await page.getByRole('link', { name: /^odd/ }).waitFor()
  const sent = []
  page.on('request', (request) => sent.push({ path: new URL(request.url()).pathname, request }))
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('[role=gridcell]')) return
      observer.disconnect()
      window.firstTile = performance.timeOrigin + performance.now()
    }).observe(document, { childList: true, subtree: true })
  })
  await page.reload()
  await page.getByRole('link', { name: /^odd/ }).waitFor()
  const shown = await page.evaluate(() => window.firstTile)
  await page.waitForLoadState('networkidle') // all requests have a time
  const asked = sent.filter(({ request }) => request.timing().startTime <= shown).map(({ path }) => path)
  const requests = asked.length
  config.figure('first screen', { requests })
  if (requests > 14) throw new Error(`${requests} requests where 14 are allowed: ${asked.join(' ')}`)
}

const Mbit = 1e6 / 8 // bytes

// Networks and processors for the measurements: bytes per second, ms, and the slowdown of the
// processor. Slow 4G is that of Lighthouse.
const machines = {
  bare: { down: -1, up: -1, latency: 0, slower: 1 },
  'processor / 4, 10 Mbit, 40 ms': { down: 10 * Mbit, up: 10 * Mbit, latency: 40, slower: 4 },
  'slow 4G': { down: 1.6 * Mbit, up: 0.75 * Mbit, latency: 150, slower: 1 },
}

// appears measures the largest contentful paint of a page (LCP, ms), median and worst of five
// visits with an empty cache, and its layout shift (CLS). The time is reported and has no limit,
// because it depends on the machine and its load. `shown` waits for the content of a visit.
async function appears(page, config, what, path, shown, storageState) {
  for (const [machine, { down, up, latency, slower }] of Object.entries(machines)) {
    const times = []
    let jumps = 0
    for (let visit = 0; visit < 5; visit++) {
      const fresh = await open(page.context().browser(), { base: config.base, storageState })
      const session = await fresh.context().newCDPSession(fresh)
      await session.send('Network.enable')
      await session.send('Network.emulateNetworkConditions', {
        offline: false,
        latency,
        downloadThroughput: down,
        uploadThroughput: up,
      })
      await session.send('Emulation.setCPUThrottlingRate', { rate: slower })
      await fresh.addInitScript(() => {
        window.seen = { largest: 0, jumps: 0 }
        new PerformanceObserver((list) =>
          list.getEntries().forEach((entry) => (window.seen.largest = entry.startTime)),
        ).observe({ type: 'largest-contentful-paint', buffered: true })
        new PerformanceObserver((list) =>
          list.getEntries().forEach((entry) => (window.seen.jumps += entry.value)),
        ).observe({ type: 'layout-shift', buffered: true })
      })
      await fresh.goto(path)
      await shown(fresh)
      await fresh.waitForLoadState('networkidle')
      const seen = await fresh.evaluate(() => window.seen)
      times.push(seen.largest)
      jumps = Math.max(jumps, seen.jumps)
      equal('faults of the visit', fresh.faults(), [])
      await fresh.context().close()
    }
    times.sort((a, b) => a - b)
    config.figure(`${what}, ${machine}`, { median: times[2], worst: times[4], jumps, load: loadavg()[0] })
    equal('whether the screen keeps still', jumps <= 0.02, true)
    equal('whether its largest thing was seen', times[0] > 0, true)
  }
}

async function firstScreen(page, config) {
  await enter(page, config, '/public/odd')
  const shown = (visit) => visit.getByRole('link', { name: /^readme\.md/ }).waitFor()
  await shown(page)
  await appears(page, config, 'first screen', '/app/files/public/odd', shown, await page.context().storageState())
}

// The page of a share, as its receiver sees it: one photo, and a folder of photos.
async function shares(page, config) {
  await enter(page, config, '')
  const names = Array.from({ length: 12 }, (_, n) => `lake ${n}.jpg`)
  const photos = names.map((name, n) => ({ name, taken: `2026:06:${10 + n} 12:00:00`, width: 1600, height: 1067 }))
  const folder = await createFolder(page, config, 'Lakes', await config.ask('photographs', photos))
  const loaded = (visit) =>
    until('a picture', () =>
      visit.locator('main img').evaluateAll((all) => all.some((one) => one.naturalWidth > 0)),
    )
  const share = async (fileId) => `/share/${(await api(page, 'POST', '/api/shares', { fileId })).share.id}`
  const { items } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}&limit=1&type=file`)
  const { folder: whole } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  await appears(page, config, 'share of a photo', await share(items[0].id), loaded)
  await appears(page, config, 'share of a folder', await share(whole.id), loaded)
}

// Ten thousand files: the cost of a frame of scrolling, the time of a jump to the middle, and the
// number of rendered entries.
async function scrolls(page, config) {
  await config.ask('createManyFiles')
  await enter(page, config, '/public/many')
  const entries = 'main a[href*="view="]'
  for (const shape of ['grid', 'list']) {
    await page.getByRole('button', { name: labels[config.language].display }).click()
    await page.getByRole('menuitemradio', { name: shape === 'list' ? 'List' : 'Medium tiles' }).click()
    await page.getByRole('link', { name: /^f00000/ }).waitFor()
    const { most, ...costs } = await scroll(page, entries)
    const jump = await jumpToMiddle(page, entries)
    const cells = Math.max(most, await page.locator(entries).count())
    config.figure(`10,000 files, ${shape}`, { ...costs, jump, cells })
    equal('whether the page holds few of them', cells > 3 && cells <= 150, true)
    equal('whether the middle was reached', jump < 20_000, true)
    await page.evaluate(() => scrollTo(0, 0))
  }
}

// Five hundred files at once: none fails, and the page stays responsive. The time that the browser
// needs before it reports the choice is not counted.
async function uploadsMany(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const dir = await mkdtemp(join(tmpdir(), 'larder-many-'))
  const names = Array.from({ length: 500 }, (_, n) => join(dir, `n${n}.txt`))
  for (const name of names) await writeFile(name, name)
  await page.evaluate(() => {
    window.longest = window.redrawn = 0
    window.frames = []
    let chosen = 0
    let last = performance.now()
    addEventListener('change', () => (chosen = performance.now()), { capture: true })
    new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries())
        window.longest = Math.max(window.longest, startTime + duration - Math.max(startTime, chosen))
    }).observe({ type: 'longtask' })
    requestAnimationFrame(function step(now) {
      if (chosen) window.frames.push(now - last)
      last = now
      scrollBy(0, scrollY % 2 ? -61 : 61)
      requestAnimationFrame(step)
    })
  })
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('main').getByRole('button', { name: say.upload, exact: true }).first().click(),
  ])
  const begun = Date.now()
  await chooser.setFiles(names)
  const going = page.getByRole('heading', { name: /\/ ?500/ })
  await going.waitFor()
  await going.evaluate((heading) =>
    new MutationObserver(() => window.redrawn++).observe(heading, {
      subtree: true,
      childList: true,
      characterData: true,
    }),
  )
  await page.getByRole('heading', { name: say.uploaded(500) }).waitFor({ timeout: 600_000 })
  const seconds = (Date.now() - begun) / 1000
  const { longest, redrawn, frames } = await page.evaluate(() => ({
    longest: window.longest,
    redrawn: window.redrawn,
    frames: window.frames.sort((a, b) => a - b),
  }))
  config.figure('500 files', {
    seconds,
    longest,
    p95: frames[Math.floor(frames.length * 0.95)],
    redrawnPerSecond: redrawn / seconds,
  })
  await rm(dir, { recursive: true })
}

// Five thousand files that are pasted or dropped: the first one is in the tray within 0.1 s, and
// all are queued within 2.5 s. All times are in ms.
async function queues(page, config, how) {
  const say = labels[config.language]
  await enter(page, config, '')
  await page.getByRole('button', { name: say.upload, exact: true }).first().waitFor()
  await page.waitForLoadState('networkidle') // the tray is loaded
  await page.route('**/api/files/upload-session', () => undefined) // nothing finishes
  const figures = await page.evaluate(queued, { how, tray: say.uploads })
  config.figure(`5,000 files, ${how}`, figures)
  if (!(figures.first <= 100 && figures.all <= 2500)) throw new Error(`${JSON.stringify(figures)} ms`)
}

// Runs in the page: the times until the first of the files is in the tray, and all of them.
async function queued({ how, tray }) {
  const data = new DataTransfer()
  for (let n = 0; n < 5000; n++) data.items.add(new File(['x'], `queued ${n}.txt`))
  const event =
    how === 'paste'
      ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true })
      : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
  const began = performance.now()
  const times = {}
  document.body.dispatchEvent(event)
  while (!times.all && performance.now() - began < 30_000) {
    await new Promise((drawn) => requestAnimationFrame(drawn))
    const shown = document.querySelector(`section[aria-label="${tray}"]`)?.textContent ?? ''
    if (!times.first && shown.includes('queued ')) times.first = performance.now() - began
    if (/5,?000/.test(shown)) times.all = performance.now() - began
  }
  return times
}

export const scenarios = [
  { name: 'the first screen takes few requests', forms: once, run: asks },
  { name: 'the first screen comes at once', forms: once, run: firstScreen },
  { name: 'a share comes at once', forms: once, run: shares },
  { name: 'scrolls through ten thousand files', forms: once, run: scrolls },
  { name: 'uploads five hundred files', forms: once, run: uploadsMany },
  ...['paste', 'drop'].map((how) => ({
    name: `queues five thousand files, ${how}`,
    forms: once,
    run: (page, config) => queues(page, config, how),
  })),
]
