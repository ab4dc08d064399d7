// Loads files in headless Chromium in every way in which a browser can load one, and reports which
// of them executed code.
//
//     node active.mjs < visits.json
//
// Reads {"profiles": [{"cookies": [{"name", "value", "url"}], "visits": [{"host", "sealed",
// "destination", "urls": {file: url}, "expect": [file]}]}]}. Each profile has its own cookies and
// cache. A visit opens the page host and loads all urls from it as one destination (`top` navigates
// to them instead). It ends when the browser has reported the end of each load, the files in expect
// have run, and the page /__host/last has run the slow actions of pages. A sealed host blocks
// everything. Prints [{"workers": number, "visits": [{"reports": [line], "loaded": [file], "open":
// [file]}]}] in the same order: the reports of the files, the files that loaded as the requested
// kind, and the files whose load did not end. workers is the number of service workers that remain,
// without that of the web UI.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { chromium } from 'playwright-core'
import { executablePath } from './chromium.mjs'

const patience = 90_000 // ms; a busy machine may need a minute for a visit
const tabs = 3
const { profiles } = JSON.parse(await text(process.stdin))

// within waits for a promise, but at most ms: the test then fails by itself.
const within = (ms, promise) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    promise
      .finally(() => {
        clearTimeout(timer)
        resolve()
      })
      .catch(() => {})
  })

// Log collects the console lines of a page, and resolves the promises that wait for a line.
class Log {
  lines = new Set()
  waiting = []
  add(line) {
    this.lines.add(line)
    this.waiting = this.waiting.filter(({ condition, resolve }) => !condition(line) || resolve())
  }
  has(condition) {
    if ([...this.lines].some(condition)) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push({ condition, resolve }))
  }
}

const told = (file) => (line) => line.split(' ')[0] === 'canary' && line.split(' ')[1] === file

// take runs in the page. It creates an element or a worker for each file and logs `ended FILE load`
// or `ended FILE error`.
function take({ destination, urls }) {
  const say = (line) => console.log(line)
  // without a reference, a worker could be collected before it reports
  const kept = (window.kept = [])
  const end = (file, how) => say(`ended ${file} ${how}`)
  addEventListener('message', (event) => {
    if (typeof event.data === 'string') say(event.data)
  })
  const hear = (port, file) => {
    kept.push(port)
    port.onmessage = (event) => {
      say(event.data)
      end(file, 'load')
    }
  }
  const element = (name, address, file, more = {}) => {
    const made = Object.assign(document.createElement(name), more)
    made.addEventListener('load', () => end(file, 'load'))
    made.addEventListener('loadedmetadata', () => end(file, 'load'))
    made.addEventListener('error', () => end(file, 'error'))
    made[address] = urls[file]
    made.width = made.height = 30 // all of them in view: browsers suspend elements out of view
    document.body.append(made)
  }
  for (const [file, url] of Object.entries(urls)) {
    try {
      switch (destination) {
        case 'iframe':
        case 'embed':
        case 'img':
        case 'video':
          element(destination, 'src', file)
          break
        case 'object':
          element('object', 'data', file)
          break
        case 'script':
          element('script', 'src', file)
          break
        case 'module':
          element('script', 'src', file, { type: 'module' })
          break
        case 'style':
          element('link', 'href', file, { rel: 'stylesheet' })
          break
        case 'import':
          import(url).then(
            () => end(file, 'load'),
            () => end(file, 'error'),
          )
          break
        case 'worker':
        case 'moduleworker': {
          const worker = new Worker(url, { type: destination === 'worker' ? 'classic' : 'module' })
          hear(worker, file)
          worker.onerror = () => end(file, 'error')
          break
        }
        case 'shared': {
          const worker = new SharedWorker(url)
          kept.push(worker)
          hear(worker.port, file)
          worker.onerror = () => end(file, 'error')
          break
        }
        case 'service':
          navigator.serviceWorker.register(url).then(
            async (registration) => {
              say(`canary ${file} ${self.origin}`)
              end(file, 'load')
            },
            () => end(file, 'error'),
          )
          break
      }
    } catch {
      end(file, 'error')
    }
  }
}

// last waits for the slow actions, on a page of the files' origin.
function last(address) {
  return new Promise((resolve) => {
    addEventListener('message', (event) => {
      if (event.data === 'last') resolve()
    })
    const frame = document.createElement('iframe')
    frame.src = address
    document.body.prepend(frame)
  })
}

const frames = ['iframe', 'object', 'embed']

// lastShared waits for a shared worker that was started after all others, because not every failing
// one reports its failure.
function lastShared(address) {
  return new Promise((resolve) => {
    const worker = new SharedWorker(address)
    window.kept.push(worker)
    worker.port.onmessage = resolve
    worker.onerror = resolve
  })
}

// first is the address of a request before redirects.
function first(request) {
  while (request.redirectedFrom()) request = request.redirectedFrom()
  return request.url()
}

async function visit(page, { host, sealed, destination, urls, expect }) {
  const log = new Log()
  const asked = new Set() // addresses
  const files = new Map(Object.entries(urls).map(([file, url]) => [new URL(url).href, file]))
  const ended = (url, how) => {
    if (files.has(url)) log.add(`ended ${files.get(url)} ${how}`)
  }
  const hears = {
    console: (message) => log.add(message.text()),
    request: (request) => asked.add(request.url()),
    download: (download) => ended(download.url(), 'download'),
    requestfailed: (request) => {
      if (frames.includes(destination)) ended(first(request), 'failed')
    },
    requestfinished: (request) => {
      if (destination === 'object' || destination === 'embed') ended(first(request), 'finished')
    },
  }
  for (const [name, fn] of Object.entries(hears)) page.on(name, fn)
  await page.goto(host, { waitUntil: 'load' })
  if (destination === 'top') {
    for (const [file, url] of Object.entries(urls)) {
      let how = 'load'
      await page.goto(url, { waitUntil: 'load', timeout: patience }).catch((error) => {
        how = /Download is starting|ERR_ABORTED|interrupted|ERR_INVALID_RESPONSE/.test(error.message) ? 'error' : ''
        if (!how) log.add(`canary-trouble ${file} ${error.message.split('\n')[0]}`)
      })
      if (how) log.add(`ended ${file} ${how}`)
      if (expect.includes(file)) await within(patience, log.has(told(file)))
      else
        await page
          .evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))))
          .catch(() => {})
    }
  } else {
    await within(patience, page.evaluate(take, { destination, urls }))
    const slow =
      frames.includes(destination) && !sealed
        ? () => within(patience, page.evaluate(last, new URL('/__host/last', files.keys().next().value).href))
        : () => {}
    await slow()
    if (destination === 'shared') {
      // from another site it cannot start
      await within(
        patience,
        page.evaluate(lastShared, new URL('/__host/last.js', host).href).catch(() => {}),
      )
      for (const file of Object.keys(urls)) if (!expect.includes(file)) log.add(`ended ${file} silent`)
    }
    // by the file name, no type that embed shows
    if (destination === 'embed') files.forEach((file, url) => asked.has(url) || ended(url, 'unasked'))
    await within(
      patience,
      Promise.all(Object.keys(urls).map((file) => log.has((line) => line.startsWith(`ended ${file} `)))),
    )
    await slow()
    await within(patience, Promise.all(expect.map((file) => log.has(told(file)))))
  }
  if (destination === 'service')
    await page.evaluate(async () => {
      for (const r of await navigator.serviceWorker.getRegistrations()) await r.unregister()
    })
  for (const [name, fn] of Object.entries(hears)) page.off(name, fn)
  const lines = [...log.lines]
  return {
    reports: lines.filter((line) => line.startsWith('canary')),
    loaded: Object.keys(urls).filter((file) => log.lines.has(`ended ${file} load`)),
    open: Object.keys(urls).filter((file) => !lines.some((line) => line.startsWith(`ended ${file} `))),
  }
}

// finished is the result of a visit whose files without an end were visited once more: on a busy
// machine Chromium now and then starts no worker at all.
async function finished(context, wanted, result) {
  if (result.open.length === 0) return result
  const urls = Object.fromEntries(result.open.map((file) => [file, wanted.urls[file]]))
  const page = await context.newPage()
  const again = await visit(page, { ...wanted, urls, expect: wanted.expect.filter((file) => file in urls) })
  await page.close()
  return {
    reports: [...result.reports, ...again.reports],
    loaded: [...result.loaded, ...again.loaded],
    open: again.open,
  }
}

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
  ],
})
try {
  const results = []
  for (const { cookies, visits } of profiles) {
    const context = await browser.newContext({ acceptDownloads: false })
    await context.addCookies(cookies)
    const done = []
    const queue = [...visits.entries()]
    await Promise.all(
      Array.from({ length: tabs }, async () => {
        const page = await context.newPage()
        for (let next = queue.shift(); next; next = queue.shift()) {
          const began = Date.now()
          done[next[0]] = await finished(context, next[1], await visit(page, next[1]))
          done[next[0]].ms = Date.now() - began
          // shows the progress if the run is interrupted
          console.error(next[1].host, next[1].destination, done[next[0]].ms, 'ms')
        }
        await page.close()
      }),
    )
    const stored = context.serviceWorkers().filter((worker) => new URL(worker.url()).pathname !== '/app/sw.js')
    results.push({ workers: stored.length, visits: done })
    await context.close()
  }
  console.log(JSON.stringify(results))
} finally {
  await browser.close()
  await rm(home, { recursive: true, force: true })
}
