// Interrupted uploads: a lost network, rate limits, a killed service, expired sessions. Uploads
// resume by themselves, parts that have arrived are not sent twice, and the stored files equal the
// sent ones. All scenarios run on plain http, where browsers restrict pages.
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { choose, each, enter, finished, MiB, onLan, pace, watch, whole, written } from './sending.mjs'

async function offline(page, config) {
  const say = labels[config.language]
  const file = await written(config, 'offline.bin', 60 * MiB)
  await enter(page, config)
  const parts = watch(page)
  await pace(page, 4 * MiB)
  await choose(page, config, file.path)
  await until('two parts', () => parts.arrived.length >= 2, 60_000)
  const banner = page.getByText(say.offline)
  await page.context().setOffline(true)
  await config.ask('disconnect') // setOffline() does not abort requests under way
  await banner.waitFor()
  await page.getByText(say.noNetwork, { exact: true }).waitFor()
  const before = parts.arrived.length
  const end = Date.now() + 30_000
  await until('half a minute', () => Date.now() > end, 40_000)
  equal('the parts that arrived meanwhile', parts.arrived.length, before)
  await becomes('whether the banner is still shown', () => banner.isVisible(), true)
  await config.shot('upload-faults-offline')
  await config.ask('reconnect')
  await page.context().setOffline(false)
  await banner.waitFor({ state: 'hidden' })
  await finished(page, config, 1)
  each(parts, 8)
  await whole(config, [file])
}

// More requests in a minute than the service allows an account: its own limit, set low and used up,
// 10 for most requests and 200 for uploads.
async function limited(page, config) {
  const say = labels[config.language]
  const files = []
  for (let n = 0; n < 15; n++) files.push(await written(config, `limited ${n}.bin`, 2000))
  await enter(page, config)
  await config.ask('settings', { rateLimitEnabled: true, rateLimitRequestsPerMinute: 10 })
  await page.evaluate(async () => {
    const paths = [...Array(10).fill('/api/files?path=/'), ...Array(200).fill('/api/files/upload/multipart/none/parts')]
    await Promise.all(paths.map((path) => fetch(path)))
  })
  const asked = []
  const pauses = []
  const ours = (request) => new URL(request.url()).pathname.startsWith('/api/')
  page.on('request', (request) => ours(request) && asked.push(Date.now()))
  page.on(
    'response',
    (response) =>
      response.status() === 429 &&
      pauses.push({ from: Date.now(), seconds: Number(response.headers()['retry-after']) }),
  )
  await page.evaluate(() => {
    window.toasts = 0
    const count = () =>
      (window.toasts = Math.max(window.toasts, document.querySelectorAll('ul[aria-live] > li').length))
    new MutationObserver(count).observe(document.body, { subtree: true, childList: true })
  })
  const banner = page.getByText(say.serverPause)
  await choose(
    page,
    config,
    files.map((file) => file.path),
  )
  await banner.waitFor()
  await becomes('how many banners there are', () => banner.count(), 1)
  equal('faults of the banner', await inspect(page), [])
  await config.shot('upload-faults-limited')
  await finished(page, config, files.length)
  config.figure('15 files at 10 and 200 requests a minute', {
    refused: pauses.length,
    longest: Math.max(...pauses.map((pause) => pause.seconds)),
  })
  const hasty = asked.filter((at) =>
    pauses.some(({ from, seconds }) => at > from + 500 && at < from + seconds * 1000 - 500),
  )
  equal('what was asked while the service wanted a pause', hasty, [])
  equal('how many toasts there were', await page.evaluate(() => window.toasts), 0)
  await whole(config, files)
}

// An upload session expires during the upload. The parts that have arrived are kept, so only the
// parts under way are sent again.
async function expires(page, config) {
  const say = labels[config.language]
  const [large, small] = [
    await written(config, 'expires.bin', 60 * MiB),
    await written(config, 'expires small.bin', 15 * MiB),
  ]
  await enter(page, config)
  const parts = watch(page)
  const answers = []
  page.on('response', (response) => response.status() === 410 && answers.push(response.url()))
  await pace(page, 4 * MiB)
  await choose(page, config, [large.path, small.path])
  await until('two parts', () => parts.arrived.length >= 2, 60_000)
  await config.ask('expireUploads')
  await Promise.all([say.resent, say.allResent].map((text) => page.getByText(text).waitFor({ timeout: 60_000 })))
  equal('faults of the page', await inspect(page), [])
  await config.shot('upload-faults-expired')
  await pace(page, -1)
  await finished(page, config, 2)
  equal('whether the service said 410', answers.length > 0, true)
  each(parts, 8)
  await whole(config, [large, small])
}

// The service is killed during the upload, and restarts with the state on its disk.
async function killed(page, config) {
  const say = labels[config.language]
  const file = await written(config, 'killed.bin', 60 * MiB)
  await enter(page, config)
  const parts = watch(page)
  await pace(page, 4 * MiB)
  await choose(page, config, file.path)
  await until('two parts', () => parts.arrived.length >= 2, 60_000)
  await config.ask('kill')
  const banner = page.getByText(say.silent)
  await banner.waitFor()
  await config.shot('upload-faults-killed')
  await config.ask('start')
  await banner.waitFor({ state: 'hidden', timeout: 60_000 })
  await finished(page, config, 1)
  each(parts, 8)
  await whole(config, [file])
}

// After a reload during the upload, the upload resumes when the user has chosen the file again.
async function reloaded(page, config) {
  const say = labels[config.language]
  const file = await written(config, 'reloaded.bin', 40 * MiB)
  await enter(page, config)
  const parts = watch(page)
  await pace(page, 4 * MiB)
  await choose(page, config, file.path)
  await until('two parts', () => parts.arrived.length >= 2, 60_000)
  page.on('dialog', (dialog) => dialog.accept())
  await page.reload()
  await page.getByText(say.pickAgain).first().waitFor()
  await pace(page, -1)
  const [again] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: say.choose, exact: true }).click(),
  ])
  await again.setFiles(file.path)
  await finished(page, config, 1)
  each(parts, 5)
  await whole(config, [file])
}

// A page on plain http lacks some browser APIs: it can still copy a link and show its QR code.
async function plain(page, config) {
  const say = labels[config.language]
  const file = await written(config, 'plain.txt', 1000)
  await enter(page, config)
  equal(
    'what the browser keeps from the page',
    await page.evaluate(() => [
      isSecureContext,
      typeof navigator.clipboard,
      typeof crypto.randomUUID,
      typeof crypto.subtle,
    ]),
    [false, 'undefined', 'undefined', 'undefined'],
  )
  await choose(page, config, file.path)
  await finished(page, config, 1)
  await page.getByRole('link', { name: /^plain\.txt/ }).click()
  await page.getByRole('button', { name: say.link, exact: true }).click()
  const panel = page.getByRole('dialog', { name: say.link })
  await panel.getByRole('button', { name: say.copyLink }).click()
  await panel.getByText(say.copiedPath(1), { exact: true }).waitFor()
  await becomes(
    'whether the focus is where it was',
    () => panel.getByRole('button', { name: say.copyLink }).evaluate((button) => button === document.activeElement),
    true,
  )
  await panel.getByRole('button', { name: say.qr }).click()
  const box = await panel.getByRole('img', { name: say.qrShown }).boundingBox()
  equal('whether the QR code can be seen', box.width > 100 && box.height > 100, true)
  equal('faults of the panel', await inspect(page), [])
  await config.shot('upload-faults-plain')
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  const search = page.getByRole('searchbox')
  await search.focus()
  await page.keyboard.press('Control+V')
  await becomes(
    'what is in the clipboard',
    () => search.inputValue(),
    `${config.base}/home/${config.username}/plain.txt`,
  )
  await whole(config, [file])
}

export const scenarios = onLan([
  { name: 'goes on after half a minute without a network', run: offline },
  { name: 'waits when there were too many requests', run: limited },
  { name: 'goes on in another session when one expires', run: expires },
  { name: 'goes on after the service was killed', run: killed },
  { name: 'goes on after a reload', run: reloaded },
  { name: 'copies links on plain http', run: plain },
])
