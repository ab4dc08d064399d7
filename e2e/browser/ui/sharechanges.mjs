// Pages of strangers that are open while the owner changes what they show: public folders and
// shares follow within 5 s, without counting a view, and say when a share has ended.
import { createFolder, enter } from './files.mjs'
import { bothPhones } from './forms.mjs'
import { becomes, equal, until } from './harness.mjs'
import { api, arrived, done, idOf, lock, look, notes, pictures, share, stranger } from './stranger.mjs'

const texts = {
  'en-US': {
    unlock: 'Password needed',
    oneLeft: '1 of 1 downloads left',
    twoLeft: '2 of 3 downloads left',
    noneLeft: 'No downloads left',
    download: 'Download',
    expired: 'This share has expired',
    revoked: 'This share no longer works',
  },
  'zh-CN': {
    unlock: '需要访问密码',
    oneLeft: '剩余下载次数：1 / 1',
    twoLeft: '剩余下载次数：2 / 3',
    noneLeft: '下载次数已用完',
    download: '下载',
    expired: '分享已过期',
    revoked: '分享已失效',
  },
}

// The patience of the scenarios. On a busy machine, where requests take long, the page asks less
// often; publicFolder checks the 5 s by the clock of the page.
const soon = 60_000 // ms

// mark marks the first picture, which stays while the folder is read again, and scrolls.
const mark = (guest) =>
  guest.evaluate(() => {
    document.querySelector('main img').dataset.kept = 'yes'
    scrollTo(0, 40)
    return scrollY
  })
const kept = (guest) =>
  guest.evaluate(() => [document.querySelector('main img').dataset.kept ?? 'another element', scrollY])

// follows changes the folder that a guest's page shows: a file appears, another one goes.
async function follows(page, config, guest, folder) {
  const text = (name) => guest.getByRole('link', { name: new RegExp(`^${name}`) })
  await text('notes\\.txt').waitFor()
  const size = guest.viewportSize()
  await guest.setViewportSize({ ...size, height: 400 }) // so that the page is longer than the screen
  const scrolled = await mark(guest)
  equal('the scroll position', scrolled, 40)
  const [, parent, name] = /^(.*)\/([^/]+)$/.exec(folder)
  await createFolder(page, config, name, [{ name: 'late.txt', bytes: btoa('late') }], parent)
  await text('late\\.txt').waitFor({ timeout: soon })
  equal('the first picture and the scroll position', await kept(guest), ['yes', scrolled])
  await api(page, 'DELETE', `/api/files/${await idOf(page, `${folder}/${notes.name}`)}`)
  await text('notes\\.txt').waitFor({ state: 'detached', timeout: soon })
  await guest.setViewportSize(size)
}

async function publicFolder(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const name = `changing ${config.language}`
  const folder = await createFolder(page, config, name, [...pictures, notes], '/public')
  const guest = await stranger(page, config)
  await guest.goto(`${encodeURI(folder)}/`)
  await arrived(guest, 3)
  await follows(page, config, guest, folder)
  await look(guest, config, 'guest-changed')
  equal('requests for the account', guest.asked.filter((one) => /\/api\/(files|shares)/.test(one) && !one.includes('thumbnail')), [])

  // a hidden page asks for nothing
  const asked = () => guest.asked.filter((one) => one.includes('/revision')).length
  const open = new Set() // requests without an answer
  guest.on('request', (request) => request.url().includes('/revision') && open.add(request))
  for (const end of ['requestfinished', 'requestfailed']) guest.on(end, (request) => open.delete(request))
  const hide = (hidden) =>
    guest.evaluate((hidden) => Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden }), hidden)
  const settle = async () => {
    await becomes('requests without an answer', () => open.size, 0)
    await guest.evaluate(() => fetch('/api/public/settings')) // after all requests so far
  }
  await guest.clock.install()
  const before = asked()
  await guest.goto(`${encodeURI(folder)}/`)
  await arrived(guest, 3)
  // the first request must not last over the jump of the clock, which would be its time
  await becomes('whether the state was asked for', () => asked() > before && open.size === 0, true)
  await settle()
  await guest.clock.pauseAt(Date.now() + 60_000) // a request takes no time by this clock
  await settle()
  for (const [hidden, most, want] of [
    [false, 5000, 1],
    [true, 60_000, 0],
    [false, 5000, 1],
  ]) {
    await hide(hidden)
    const already = asked()
    await guest.clock.fastForward(most)
    await becomes(`requests in ${most} ms of a page that is ${hidden ? 'hidden' : 'visible'}`, () => asked() - already, want)
    await settle()
    equal('the requests afterwards', asked() - already, want)
  }
  await guest.clock.resume()

  // a folder that gets a password asks for it
  await lock(page, folder)
  await until('the question for the password', async () => {
    await guest.clock.fastForward(4000)
    return guest.getByRole('dialog', { name: say.unlock }).isVisible()
  })
  await done(guest)
}

async function sharedFolder(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Changing ${config.language}`, [...pictures, notes])
  const id = await share(page, folder, { maxViews: 1 })
  const guest = await stranger(page, config)
  await guest.goto(`/share/${id}`)
  await arrived(guest, 3)
  await follows(page, config, guest, folder)
  equal('requests of the share', guest.asked.filter((one) => one === `GET /api/shares/${id}`).length, 1)
  const { items } = await api(page, 'GET', '/api/shares/?limit=100')
  equal('the views', items.find((one) => one.id === id).viewCount, 1)

  // the share is revoked while its viewer is open
  await guest.getByRole('link', { name: 'lake 1.png' }).click()
  await guest.locator('dialog[open]').getByRole('heading', { name: 'lake 1.png' }).waitFor()
  await api(page, 'DELETE', `/api/shares/${id}`)
  await guest.getByRole('heading', { level: 1, name: say.revoked }).waitFor({ timeout: soon })
  await becomes('open viewers', () => guest.locator('dialog[open]').count(), 0)
  await look(guest, config, 'share-revoked-meanwhile')
  const asked = guest.asked.length
  await guest.clock.install()
  await guest.clock.fastForward(30_000)
  equal('requests after the end', guest.asked.length - asked, 0)
  await done(guest)
}

async function sharedFile(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Ending ${config.language}`, [notes])
  const id = await share(page, `${folder}/notes.txt`, { expiresIn: 60 })
  const guest = await stranger(page, config)
  await guest.goto(`/share/${id}`)
  await guest.getByText('a few words for a friend').waitFor()
  await config.ask('expireShare', { id })
  await guest.getByRole('heading', { level: 1, name: say.expired }).waitFor({ timeout: soon })
  await done(guest)
}

// Another visitor takes the last download of a share while its page is open. Then its owner changes
// the limit, the title and the end, and sets a password, which the page asks for.
async function lastDownload(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Last ${config.language}`, [notes])
  const id = await share(page, `${folder}/notes.txt`, { maxDownloads: 1 })
  const guest = await stranger(page, config)
  await guest.goto(`/share/${id}`)
  await guest.getByText(say.oneLeft).waitFor()
  const { url } = await api(page, 'GET', `/api/shares/${id}/download`)
  equal('the status of the download', (await page.request.get(url)).status(), 200)
  await guest.getByText(say.noneLeft).waitFor({ timeout: soon })
  await becomes('buttons to download', () => guest.getByRole('button', { name: say.download }).count(), 0)

  await api(page, 'PATCH', `/api/shares/${id}`, { maxDownloads: 3, title: 'Another title', expiresIn: 3600 })
  await guest.getByRole('heading', { level: 1, name: 'Another title' }).waitFor({ timeout: soon })
  await guest.getByText(say.twoLeft).waitFor()
  await becomes('facts', () => guest.locator('header li').count(), 4) // creator, size, expiry, downloads
  await becomes('buttons to download', () => guest.getByRole('button', { name: say.download }).count(), 1)
  await api(page, 'PATCH', `/api/shares/${id}`, { password: 'a new password' })
  await guest.locator('input[type=password]').waitFor({ timeout: soon })
  equal('dialogs', await guest.locator('dialog[open]').count(), 0)
  equal('whether the text is gone', await guest.getByText('a few words for a friend').count(), 0)
  await look(guest, config, 'share-locked-meanwhile')
  await guest.locator('input[type=password]').fill('a new password')
  await guest.keyboard.press('Enter')
  await guest.getByText('a few words for a friend').waitFor()
  const { items } = await api(page, 'GET', '/api/shares/?limit=100')
  equal('the views', items.find((one) => one.id === id).viewCount, 1)
  await done(guest)
}

export const scenarios = [
  { name: 'an open public folder follows changes', forms: bothPhones, run: publicFolder },
  { name: 'an open share follows changes', forms: bothPhones, run: sharedFolder },
  { name: 'an open share says that it has expired', forms: bothPhones, run: sharedFile },
  { name: 'an open share counts the downloads of others', forms: bothPhones, run: lastDownload },
]
