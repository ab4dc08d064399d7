// The page of a share, as a stranger sees it in a profile of their own: "I send a share link to a
// friend; he opens it on his phone, sees the picture (or the gallery), and downloads it."
import { createFolder, enter } from './files.mjs'
import { bothPhones, windows } from './forms.mjs'
import { becomes, equal, isPhone, until } from './harness.mjs'
import { watch } from './screens.mjs'
import {
  api,
  arrived,
  done,
  everyPhone,
  look,
  notes,
  pictures,
  saved,
  share,
  song,
  stranger,
} from './stranger.mjs'

// The texts of the page, by language.
const texts = {
  'en-US': {
    from: (name) => `From ${name}`,
    download: 'Download',
    downloadAll: 'Download all',
    left: '2 of 3 downloads left',
    noneLeft: 'No downloads left',
    viewOnly: 'View only',
    folderFrom: (name) => `${name} shared a folder with you`,
    password: 'Password',
    open: 'Open',
    wrong: 'Wrong password.',
    again: 'Enter the password again',
    expired: 'This share has expired',
    revoked: 'This share no longer works',
    usedUp: 'This share is used up',
    missing: "This share doesn't exist",
    noPreview: 'Previews are switched off for this share.',
    close: 'Close',
    next: 'Next',
    slideshow: 'Slideshow',
    pause: 'Pause the slideshow',
    select: 'Select',
    downloadSelected: 'Download selected',
    selectAll: 'Select all',
    chosen: '2 selected',
    location: 'Location',
    empty: 'This folder is empty',
  },
  'zh-CN': {
    from: (name) => `来自 ${name}`,
    download: '下载',
    downloadAll: '全部下载',
    left: '剩余下载次数：2 / 3',
    noneLeft: '下载次数已用完',
    viewOnly: '仅供查看',
    folderFrom: (name) => `${name} 向您分享了一个文件夹`,
    password: '密码',
    open: '打开',
    wrong: '密码不正确。',
    again: '请再次输入密码',
    expired: '分享已过期',
    revoked: '分享已失效',
    usedUp: '查看次数已用完',
    missing: '分享不存在',
    noPreview: '分享者关闭了预览。',
    close: '关闭',
    next: '下一个',
    slideshow: '幻灯片放映',
    pause: '暂停放映',
    select: '选择',
    downloadSelected: '下载所选文件',
    selectAll: '全选',
    chosen: '已选择 2 项',
    location: '位置',
    empty: '此文件夹为空',
  },
}

const counts = async (page, id) => {
  const { viewCount, downloadCount } = (await api(page, 'GET', '/api/shares/?limit=100')).items.find(
    (one) => one.id === id,
  )
  return { viewCount, downloadCount }
}

async function opensPicture(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `For friends ${config.size}`, pictures.slice(0, 1))
  const id = await share(page, `${folder}/lake 1.png`, { title: 'The lake in May', maxDownloads: 3 })
  const guest = await stranger(page, config)
  const answer = await guest.goto(`/share/${id}`)
  equal('the status', answer.status(), 200)
  await guest.getByRole('heading', { level: 1, name: 'The lake in May' }).waitFor()
  await guest.getByText(say.from(config.username)).waitFor()
  const shown = guest.getByRole('main').getByRole('img', { name: 'lake 1.png' })
  const fills = (image) => Math.round(image.getBoundingClientRect().width) === innerWidth
  await until('a picture as wide as the page', () => shown.evaluate(fills))
  await look(guest, config, 'share-picture')
  const button = guest.getByRole('button', { name: say.download })
  const { name, bytes } = await saved(guest, () => button.click())
  equal('the name of the download', name, 'lake 1.png')
  equal('whether the bytes are the same', bytes.toString('base64') === pictures[0].bytes, true)
  await guest.getByText(say.left).waitFor()
  equal('requests of the share', guest.asked.filter((one) => one === `GET /api/shares/${id}`).length, 1)
  equal('requests about an account', guest.asked.filter((one) => /users|auth|\/api\/files/.test(one)), [])
  await becomes('what the share counts', () => counts(page, id), { viewCount: 1, downloadCount: 1 })
  await done(guest)
}

// staysInView scrolls a low page to its end, where the elements must still be in view.
async function staysInView(page, elements) {
  const { width, height } = page.viewportSize()
  await page.setViewportSize({ width, height: 320 })
  await page.evaluate(() => scrollTo({ top: 1e6, behavior: 'instant' }))
  equal('whether the page was scrolled', (await page.evaluate(() => scrollY)) > 0, true)
  for (const element of elements) {
    const inView = ({ top, bottom }) => top >= 0 && bottom <= 320
    const rect = await element.evaluate((one) => {
      const { top, bottom } = one.getBoundingClientRect()
      return { top, bottom }
    })
    equal(`whether ${element} is in view`, inView(rect), true)
  }
  await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }))
  await page.setViewportSize({ width, height })
}

async function walksGallery(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Trip ${config.size}`, [...pictures, notes])
  await createFolder(page, config, 'Second day', pictures.slice(0, 2), folder)
  await createFolder(page, config, 'Nothing', [], folder)
  const id = await share(page, folder, { title: 'Trip to the lakes' })
  const sized = async () =>
    (await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)).items.filter(({ width }) => width > 0)
  await until('the sizes of the pictures', async () => (await sized()).length === pictures.length, 600_000)
  const guest = await stranger(page, config)
  await watch(guest)
  // all names, and the size of the share, have arrived before the first picture
  let release
  const held = new Promise((resolve) => (release = resolve))
  await guest.route(/\/thumbnail\?/, async (route) => {
    await held
    await route.continue()
  })
  await guest.goto(`/share/${id}`)
  await guest.getByRole('link', { name: pictures.at(-1).name }).waitFor()
  await guest.getByRole('button', { name: new RegExp(`^${say.downloadAll}.*\\(`) }).waitFor()
  const boxes = () =>
    guest.locator('main li img').evaluateAll((all) =>
      all.map((image) => {
        const { x, y, width, height } = image.getBoundingClientRect()
        return [x, y, width, height]
      }),
    )
  const before = await boxes()
  await guest.evaluate(() => (window.jumps = 0)) // those of the first load are not about the pictures
  release()
  await arrived(guest, pictures.length)
  equal('the places of the pictures, before and after they have arrived', await boxes(), before)
  const jumps = await guest.evaluate(() => window.jumps)
  equal('whether the gallery keeps still', [jumps <= 0.02, jumps], [true, jumps])
  await guest.getByRole('button', { name: new RegExp(`^${say.downloadAll}.*\\(`) }).waitFor()
  await look(guest, config, 'share-gallery')
  await staysInView(guest, [guest.getByRole('heading', { level: 1 }), guest.getByText(say.from(config.username))])

  await guest.getByRole('link', { name: 'lake 1.png' }).click()
  const viewer = guest.locator('dialog[open]')
  await viewer.getByRole('heading', { name: 'lake 1.png' }).waitFor()
  await look(guest, config, 'share-viewer')
  await viewer.getByRole('button', { name: say.next }).click()
  await viewer.getByRole('heading', { name: 'lake 2.png' }).waitFor()
  await guest.goBack()
  await viewer.waitFor({ state: 'detached' })

  await guest.getByRole('button', { name: say.slideshow }).click()
  await viewer.getByRole('button', { name: say.pause }).waitFor()
  await viewer.getByRole('heading', { name: 'lake 2.png' }).waitFor() // by itself
  // the bar may be hidden by now, and comes back
  await (isPhone(config.size) ? guest.touchscreen.tap(195, 420) : guest.mouse.move(195, 420))
  await viewer.getByRole('button', { name: say.close }).click()
  await viewer.waitFor({ state: 'detached' })

  await guest.getByRole('link', { name: /^notes\.txt/ }).click()
  await viewer.getByText('a few words for a friend').waitFor()
  await look(guest, config, 'share-text')
  await viewer.getByRole('button', { name: say.close }).click()

  await guest.getByRole('link', { name: 'Second day' }).click()
  await guest.getByRole('heading', { level: 2, name: 'Second day' }).waitFor()
  await arrived(guest, 2)
  await look(guest, config, 'share-below')
  const tab = await guest.context().newPage()
  await tab.goto(new URL(await guest.getByRole('link', { name: 'lake 2.png' }).getAttribute('href'), guest.url()).href)
  await tab.locator('dialog[open]').getByRole('heading', { name: 'lake 2.png' }).waitFor()
  await tab.close()
  await guest.getByRole('navigation', { name: say.location }).getByRole('link').click()
  await guest.getByRole('link', { name: 'Nothing' }).click()
  await guest.getByRole('heading', { name: say.empty }).waitFor()
  await look(guest, config, 'share-empty')
  await guest.goBack()

  await guest.getByRole('button', { name: say.select, exact: true }).click()
  const boxesChecked = () =>
    guest.getByRole('checkbox').evaluateAll((all) => all.map(({ checked }) => checked).join(' '))
  for (const checked of [true, false]) {
    await guest.getByRole('button', { name: say.selectAll }).click()
    await becomes('the selection', boxesChecked, Array(pictures.length + 1).fill(checked).join(' '))
  }
  await staysInView(guest, [guest.getByRole('button', { name: say.downloadSelected })])
  for (const name of ['lake 3.png', 'notes.txt']) await guest.getByRole('checkbox', { name }).check()
  await guest.getByText(say.chosen).waitFor()
  await look(guest, config, 'share-select')
  const names = []
  guest.on('download', (download) => names.push(download.suggestedFilename()))
  await guest.getByRole('button', { name: say.downloadSelected }).click()
  await until('a download', () => names.length > 0)
  equal('the downloads', names, [`Trip ${config.size}.zip`])
  const zip = await saved(guest, () => guest.getByRole('button', { name: say.downloadAll }).click())
  equal('the whole folder', zip.name, `Trip ${config.size}.zip`)
  equal('what a zip begins with', zip.bytes.subarray(0, 2).toString(), 'PK')
  equal('requests of the share', guest.asked.filter((one) => one === `GET /api/shares/${id}`).length, 1)
  await becomes('what the share counts', () => counts(page, id), { viewCount: 2, downloadCount: 2 })
  await done(guest)
}

// outlastsPassword takes the access of a password from a page, as after its 15 minutes. The clock
// of the page moves too: before that time the page concludes from a refused request that the
// password was changed.
async function outlastsPassword(guest) {
  await guest.waitForResponse((answer) => answer.url().includes('/revision')) // the next one follows in seconds
  await guest.evaluate(() => fetch('/api/public/settings')) // the page has read the answer before
  await guest.evaluate(() => {
    const now = Date.now
    Date.now = () => now() + 16 * 60_000
  })
  await guest.context().clearCookies()
}

async function asksPassword(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Private ${config.size}`, [...pictures.slice(0, 2), notes])
  await createFolder(page, config, 'Inside', pictures.slice(0, 2), folder)
  const id = await share(page, folder, { password: 'open sesame', maxViews: 1 })
  const guest = await stranger(page, config)
  equal('the status', (await guest.goto(`/share/${id}`)).status(), 200)
  await guest.getByRole('heading', { level: 1, name: say.folderFrom(config.username) }).waitFor()
  await look(guest, config, 'share-password')
  const field = guest.getByLabel(say.password, { exact: true })
  await field.fill('wrong')
  await guest.getByRole('button', { name: say.open, exact: true }).click()
  await guest.getByText(say.wrong).waitFor()
  await look(guest, config, 'share-password-wrong')
  await becomes(
    'whether the focus is on the password',
    () => field.evaluate((it) => it === document.activeElement),
    true,
  )
  await field.fill('open sesame')
  await guest.keyboard.press('Enter')
  await guest.getByRole('heading', { level: 1, name: `Private ${config.size}` }).waitFor()
  await arrived(guest, 2)

  await guest.getByRole('link', { name: 'Inside' }).click()
  await arrived(guest, 2)
  await outlastsPassword(guest)
  await guest.getByRole('link', { name: 'lake 1.png' }).click()
  const asks = guest.getByRole('dialog', { name: say.again })
  await asks.waitFor()
  await look(guest, config, 'share-password-again')
  const again = asks.getByLabel(say.password, { exact: true })
  await becomes('whether the focus is in the dialog', () => again.evaluate((it) => it === document.activeElement), true)
  await again.fill('open sesame')
  await asks.getByRole('button', { name: say.open, exact: true }).click()
  await asks.waitFor({ state: 'detached' })
  const viewer = guest.locator('dialog[open]')
  const shown = viewer.getByRole('img', { name: 'lake 1.png' })
  await until('the picture', () => shown.evaluate((image) => image.complete && image.naturalWidth > 0))
  const file = await saved(guest, () => viewer.getByRole('button', { name: say.download }).click())
  equal('the download', file.name, 'lake 1.png')
  equal('the place', new URL(guest.url()).searchParams.get('path'), '/Inside')
  await guest.getByRole('heading', { level: 2, name: 'lake 1.png' }).waitFor()
  await becomes('what the share counts', () => counts(page, id), { viewCount: 1, downloadCount: 1 })
  await done(guest)
}

async function tellsEnds(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Ended ${config.size}`, [pictures[0], notes])
  const path = `${folder}/lake 1.png`
  const guest = await stranger(page, config)
  const shows = async (id, status, heading, what) => {
    equal(`the status of ${what}`, (await guest.goto(`/share/${id}`)).status(), status)
    await guest.getByRole('heading', { level: 1, name: heading }).waitFor()
    await look(guest, config, `share-${what}`)
  }
  const expired = await share(page, path, { expiresIn: 60 })
  await config.ask('expireShare', { id: expired })
  await shows(expired, 410, say.expired, 'expired')
  const revoked = await share(page, path)
  await api(page, 'DELETE', `/api/shares/${revoked}`)
  await shows(revoked, 410, say.revoked, 'revoked')
  await shows('abcdefghijkl', 404, say.missing, 'not-found')
  equal('requests of shares that have ended', guest.asked.filter((one) => one.includes('/api/shares/')), [])

  const once = await share(page, path, { maxViews: 1 })
  await guest.goto(`/share/${once}`)
  await guest.getByRole('heading', { level: 1, name: 'lake 1.png' }).waitFor()
  await shows(once, 410, say.usedUp, 'used-up')

  await guest.goto(`/share/${await share(page, path, { allowPreview: false, maxDownloads: 1 })}`)
  await guest.getByText(say.noPreview).waitFor()
  await look(guest, config, 'share-no-preview')
  await saved(guest, () => guest.getByRole('banner').getByRole('button', { name: say.download }).click())
  await guest.getByText(say.noneLeft).waitFor()
  await becomes('buttons to download', () => guest.getByRole('button', { name: say.download }).count(), 0)

  await guest.goto(`/share/${await share(page, folder, { allowDownload: false })}`)
  await arrived(guest, 1)
  await guest.getByText(say.viewOnly).waitFor()
  await becomes('buttons to download', () => guest.getByRole('button', { name: say.download }).count(), 0)
  await look(guest, config, 'share-no-download')
  await done(guest)
}

// Files other than pictures, each alone.
async function opensOthers(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Others ${config.size}`, [notes, song])
  const guest = await stranger(page, config)
  await guest.goto(`/share/${await share(page, `${folder}/notes.txt`)}`)
  await guest.getByText('a few words for a friend').waitFor()
  await look(guest, config, 'share-one-text')
  await guest.goto(`/share/${await share(page, `${folder}/song.wav`)}`)
  await guest.waitForFunction(() => document.querySelector('audio')?.duration > 1)
  await look(guest, config, 'share-one-sound')
  await done(guest)
}

// Everything by the keyboard alone.
async function byKeyboard(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'By keys', [...pictures.slice(0, 3), notes])
  const guest = await stranger(page, config)
  await guest.goto(`/share/${await share(page, folder)}`)
  await arrived(guest, 3)
  await look(guest, config, 'share-desk')
  const scripts = await guest.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js'))
      .map(({ name, encodedBodySize }) => ({ name: name.replace(/.*\//, ''), size: encodedBodySize })),
  )
  const sum = scripts.reduce((all, { size }) => all + size, 0)
  config.figure('the page of a share', { files: scripts.length, bytes: sum })
  if (sum === 0 || sum > 60 << 10) throw new Error(`the page loads ${sum} bytes: ${JSON.stringify(scripts)}`)
  const focused = () => guest.evaluate(() => document.activeElement.getAttribute('aria-label'))
  for (let n = 0; n < 12 && (await focused()) !== 'lake 2.png'; n++) await guest.keyboard.press('Tab')
  await becomes('the focus', () => focused(), 'lake 2.png')
  await guest.keyboard.press('Enter')
  const heading = guest.locator('dialog[open] h2')
  await heading.filter({ hasText: 'lake 2.png' }).waitFor()
  await guest.keyboard.press('ArrowRight')
  await heading.filter({ hasText: 'lake 3.png' }).waitFor()
  await guest.keyboard.press('Escape')
  await guest.locator('dialog[open]').waitFor({ state: 'detached' })
  await becomes('the focus after the viewer', () => focused(), 'lake 2.png')
  await done(guest)
}

export const scenarios = [
  { name: 'a stranger opens a shared picture', forms: everyPhone, run: opensPicture },
  { name: 'a stranger walks through a shared gallery', forms: (full) => [...bothPhones(full), ...windows(full, ['narrow'])], run: walksGallery },
  { name: 'a stranger enters the password of a share', forms: bothPhones, run: asksPassword },
  { name: 'a stranger learns how a share has ended', forms: everyPhone, run: tellsEnds },
  { name: 'a stranger opens other shared files', forms: bothPhones, run: opensOthers },
  {
    name: 'a share is shown by the keyboard alone',
    forms: () => [{ language: 'en-US', theme: 'light', size: 'desk' }],
    run: byKeyboard,
  },
]
