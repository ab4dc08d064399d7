// Common code of the upload scenarios: files to send, the part numbers that arrive, and the
// checksums of the stored files.
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from './forms.mjs'
import { equal, give } from './harness.mjs'
import { labels, signInAt } from './labels.mjs'

export const MiB = 1 << 20

const sum = (bytes) => createHash('sha256').update(bytes).digest('hex')

// content returns bytes in which no part repeats.
const content = (size, seed) =>
  Buffer.from(
    Array.from({ length: Math.ceil(size / 32) }, (_, n) => sum(`${seed} ${n}`).slice(0, 32)).join(''),
  ).subarray(0, size)

// written writes a file of a size into the directory of the scenario.
export async function written(config, name, size) {
  const bytes = content(size, name)
  const path = join(config.dir, name)
  await writeFile(path, bytes)
  return { path, name, sum: sum(bytes) }
}

// enter signs in and opens a folder, by default that of the account.
export async function enter(page, config, path = `/home/${config.username}`) {
  await signInAt(page, config, `/app/files${path}`)
}

// choose uploads files to the folder on the screen.
export async function choose(page, config, paths) {
  const button = page
    .getByRole('main')
    .getByRole('button', { name: labels[config.language].upload, exact: true })
    .first()
  await give(page, () => button.click(), paths)
}

export const finished = (page, config, count) =>
  page.getByRole('heading', { name: labels[config.language].uploaded(count) }).waitFor({ timeout: 600_000 })

// whole fails unless the stored files equal those on the disk.
export async function whole(config, files, folder = `/home/${config.username}`) {
  equal(
    'the sums',
    await config.ask(
      'sums',
      files.map((file) => `${folder}/${file.name}`),
    ),
    files.map((file) => file.sum),
  )
}

// pace limits the upload speed, in bytes per second.
export async function pace(page, speed) {
  const network = await page.context().newCDPSession(page)
  await network.send('Network.enable')
  await network.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: speed,
  })
}

// watch records part numbers: those that were acknowledged, and those that were sent again
// afterwards.
export function watch(page) {
  const parts = { arrived: [], twice: [] }
  const number = (request) =>
    request.method() === 'PUT' && Number(/\/multipart\/[^/]+\/part\/(\d+)$/.exec(new URL(request.url()).pathname)?.[1])
  page.on('request', (request) => parts.arrived.includes(number(request)) && parts.twice.push(number(request)))
  page.on(
    'response',
    (response) => response.ok() && number(response.request()) && parts.arrived.push(number(response.request())),
  )
  return parts
}

// each fails unless every part has arrived exactly once.
export function each(parts, count) {
  equal(
    'the parts that arrived',
    parts.arrived.toSorted((a, b) => a - b),
    Array.from({ length: count }, (_, n) => n + 1),
  )
  equal('the parts that were sent again after they had arrived', parts.twice, [])
}

// within gives a scenario its own directory for the files that it uploads.
const within = (run) => async (page, config) => {
  const dir = await mkdtemp(join(tmpdir(), 'larder-upload-faults-'))
  try {
    await run(page, { ...config, dir })
  } finally {
    await config.ask('reset')
    await rm(dir, { recursive: true })
  }
}

// onLan makes scenarios run against the second service, once each.
export const onLan = (scenarios) =>
  scenarios.map(({ name, run }) => ({ name, forms: once, lan: true, run: within(run) }))
