// A stranger: a page in a profile of its own, beside the page of an owner, and files that owners
// share with strangers.
import { readFile } from 'node:fs/promises'
import { equal, inspect, languages, open, themes } from './harness.mjs'
import { cramped } from './phone.mjs'
import { png, wave } from './pictures.mjs'

// everyPhone: each width, each language and each theme once; all combinations in a full run.
export const everyPhone = (full) =>
  full
    ? ['phone', 'small'].flatMap((size) =>
        languages.flatMap((language) => themes.map((theme) => ({ language, theme, size }))),
      )
    : [
        { language: 'en-US', theme: 'light', size: 'phone' },
        { language: 'zh-CN', theme: 'dark', size: 'small' },
      ]

const shapes = [
  [900, 600],
  [600, 900],
  [1200, 400],
  [640, 640],
  [800, 600],
  [500, 700],
]
export const pictures = shapes.map(([width, height], n) => ({
  name: `lake ${n + 1}.png`,
  bytes: png(width, height, n / shapes.length).toString('base64'),
}))
export const song = { name: 'song.wav', bytes: wave(2).toString('base64') }
export const notes = { name: 'notes.txt', bytes: btoa('a few words for a friend') }

// api sends a request in the session of the owner's page and returns the data of the answer. Like
// the page, it waits while the rate limit of the account refuses requests.
export const api = (page, method, path, body) =>
  page.evaluate(
    async ({ method, path, body }) => {
      const send = async (...request) => {
        for (;;) {
          const answer = await fetch(...request)
          if (answer.status !== 429) return answer
          await new Promise((resolve) => setTimeout(resolve, 1000 * Number(answer.headers.get('Retry-After'))))
        }
      }
      const { data } = await (await send('/api/auth/csrf-token')).json()
      const answer = await send(path, {
        method,
        headers: { 'X-CSRF-Token': data.token, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const told = await answer.json()
      if (!told.success) throw new Error(`${method} ${path}: ${JSON.stringify(told)}`)
      return told.data
    },
    { method, path, body },
  )

// idOf returns the id of an entry that the owner sees, by its path.
export async function idOf(page, path) {
  const [, parent, name] = /^(.*)\/([^/]+)$/.exec(path)
  const { items } = await api(page, 'GET', `/api/files?limit=1000&path=${encodeURIComponent(parent)}`)
  return items.find((item) => item.name === name).id
}

// share shares an entry by its path and returns the id of the share.
export const share = async (page, path, options = {}) =>
  (await api(page, 'POST', '/api/shares/', { fileId: await idOf(page, path), ...options })).share.id

// lock sets the password of an entry, by its path.
export const lock = async (page, path, accessPassword = 'open sesame') =>
  api(page, 'PUT', `/api/files/${await idOf(page, path)}`, { accessPassword })

// stranger opens a page in a profile of its own, which notes its requests to the service.
export async function stranger(page, { language, theme, size, base }) {
  const guest = await open(page.context().browser(), { language, theme, size, base })
  guest.asked = []
  guest.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/api/')) guest.asked.push(`${request.method()} ${pathname}`)
  })
  return guest
}

// done closes the page of a stranger, which must have had no fault.
export async function done(guest) {
  equal('faults of the stranger’s page', guest.faults(), [])
  await guest.context().close()
}

export async function look(guest, config, what) {
  equal(`faults of ${what}`, await inspect(guest), [])
  equal(`what does not fit in ${what}`, await cramped(guest, config), [])
  await config.shot(what, guest)
}

export const arrived = (guest, least) =>
  guest.waitForFunction(
    (least) =>
      [...document.querySelectorAll('main img')].filter(
        (image) => image.complete && image.naturalWidth > 0 && image.getBoundingClientRect().width > 0,
      ).length >= least,
    least,
  )

export const saved = async (guest, click) => {
  const [download] = await Promise.all([guest.waitForEvent('download'), click()])
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) }
}
