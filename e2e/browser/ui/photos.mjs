// The page Photos: "I open Photos and see all my pictures as rows in their true proportions, newest
// first, under the names of the months; I drag the date scrubber to last July and its pictures are
// there."
import { createFolder, enter } from './files.mjs'
import { bothLanguages, everyWith, once } from './forms.mjs'
import { becomes, equal, give, inspect, isPhone, until } from './harness.mjs'
import { jumpToMiddle, scroll } from './frames.mjs'
import { labels } from './labels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'
import { api, idOf } from './stranger.mjs'

const texts = {
  'en-US': {
    photos: 'Photos',
    date: 'Date',
    kind: 'Type',
    all: 'All',
    videos: 'Videos',
    none: 'No photos yet',
    noVideos: 'No videos yet',
    july: 'July 2025',
    june: 'June 2025',
    may: 'May 2025',
    last: 'December 2023',
    choose: (month) => `Select all of ${month}`,
    chosen: (n) => `${n} selected`,
    trash: (name) => `“${name}” is in the trash.`,
    undo: 'Undo',
    favourite: 'Favorite',
    showIn: 'Open containing folder',
  },
  'zh-CN': {
    photos: '照片',
    date: '日期',
    kind: '类型',
    all: '全部',
    videos: '视频',
    none: '还没有照片',
    noVideos: '还没有视频',
    july: '2025年7月',
    june: '2025年6月',
    may: '2025年5月',
    last: '2023年12月',
    choose: (month) => `选择${month}的全部照片`,
    chosen: (n) => `已选 ${n} 项`,
    trash: (name) => `“${name}”已移到回收站。`,
    undo: '撤销',
    favourite: '收藏',
    showIn: '打开所在文件夹',
  },
}

// The months of the album, the newest first, and the width and height of their pictures in turn.
const album = [
  { month: '2026-03', name: 'march', count: 10 },
  { month: '2025-07', name: 'july', count: 8 },
  { month: '2025-06', name: 'june', count: 6 },
  { month: '2025-05', name: 'may', count: 4 },
  { month: '2024-08', name: 'august', count: 6 },
  { month: '2023-12', name: 'last', count: 5 },
]
export const shapes = [
  [480, 320],
  [320, 480],
  [400, 400],
  [480, 270],
]
const total = album.reduce((sum, { count }) => sum + count, 0)

const nameOf = (name, nth) => `${name} ${String(nth + 1).padStart(2, '0')}.jpg`
export const two = (n) => String(n).padStart(2, '0')

// photographs returns the pictures of the album. The first one of each month is the newest.
function photographs() {
  return album.flatMap(({ month, name, count }) =>
    Array.from({ length: count }, (_, nth) => {
      const [width, height] = shapes[nth % shapes.length]
      const taken = `${month.replace('-', ':')}:${two(27 - nth)} 12:00:00`
      return { name: nameOf(name, nth), width, height, taken }
    }),
  )
}

// enterNew signs in to a new account.
export async function enterNew(page, config) {
  const username = await config.ask('createAccount', { locale: config.language })
  const own = { ...config, username }
  await enter(page, own, '')
  return own
}

// The names of the accounts with the album, by language.
const owners = {}

// enterAlbum signs in to an account with the album, whose pictures the server has examined. A
// scenario must not change the album: examining takes long, so one account serves all of them.
async function enterAlbum(page, config) {
  const username = owners[config.language]
  if (username) return enter(page, { ...config, username }, '')
  const own = await enterNew(page, config)
  await createFolder(page, own, 'Camera', await config.ask('photographs', photographs()))
  await examined(page)
  owners[config.language] = own.username
}

const timeline = (page) => page.evaluate(async () => (await (await fetch('/api/files/timeline')).json()).data.months)

// examined waits until the server has examined all pictures, which it does at a low priority.
export const examined = (page) =>
  until(
    'the proportions of all pictures',
    async () => (await timeline(page)).every(({ ratios }) => !ratios.includes(0)),
    600_000,
  )

async function open(page, say) {
  await page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: say.photos }).click()
  await page.getByRole('heading', { level: 1, name: say.photos }).waitFor()
}

const say = (config) => ({ ...labels[config.language], ...texts[config.language] })
const cell = (page, name) => page.getByRole('gridcell', { name: new RegExp(`^${name.replace('.', '\\.')} `) })
const status = (page) => page.getByRole('main').getByRole('status').first()
const slider = (page, words) => page.getByRole('slider', { name: words.date })
const monthOf = (page, words) => slider(page, words).getAttribute('aria-valuetext')
// seen reports whether an element is in the window, below the toolbar.
const seen = (locator) =>
  locator.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect()
    return top >= document.querySelector('header').getBoundingClientRect().bottom - 1 && bottom <= innerHeight
  })

// cells returns the names and the boxes of the rendered cells, row by row.
const cells = (page) =>
  page.getByRole('gridcell').evaluateAll((all) =>
    all.map((one) => {
      const { left, top, width, height } = one.getBoundingClientRect()
      return { name: one.querySelector('a').title, left, top: top + scrollY, width, height }
    }),
  )

async function isFound(page, config) {
  const words = say(config)
  await enterAlbum(page, config)
  await open(page, words)
  await cell(page, nameOf('march', 0)).waitFor()
  equal('the number of pictures', await status(page).innerText(), words.items(total))
  await page.getByRole('rowheader', { name: words.july }).waitFor({ state: 'attached' })
  equal(
    'the heading of a month',
    await page.getByRole('heading', { level: 2, name: words.july }).innerText(),
    words.july,
  )
  equal(
    'the count of a month',
    await page.getByRole('rowheader', { name: words.july }).innerText(),
    `${words.july}\n· 8`,
  )

  const shown = await cells(page)
  equal(
    'the order',
    shown.slice(0, 10).map(({ name }) => name),
    Array.from({ length: 10 }, (_, n) => nameOf('march', n)),
  )
  for (const { name, width, height } of shown) {
    const [w, h] = shapes[(Number(/\d+/.exec(name)[0]) - 1) % shapes.length]
    const wanted = (height * w) / h
    // the widths are whole pixels, and the height is rounded after a row is filled
    if (Math.abs(width - wanted) > 1.001 + 0.5 * (w / h))
      throw new Error(`${name} is ${width} × ${height} px, want ${wanted} px of width`)
  }
  await until('the pictures', () =>
    page.locator('[role=grid] img').evaluateAll((all) => all.length > 10 && all.every((one) => one.naturalWidth > 0)),
  )
  equal('faults of the page', await inspect(page), [])
  await config.shot('photos')

  // by the mouse, in steps, until the handle names the month
  equal(
    'the month at the top',
    await monthOf(page, words),
    await page.getByRole('heading', { level: 2 }).first().innerText(),
  )
  const track = await slider(page, words).locator('..').boundingBox()
  const handle = await slider(page, words).boundingBox()
  const x = handle.x + handle.width / 2
  await page.mouse.move(x, handle.y + handle.height / 2)
  await page.mouse.down()
  let y = handle.y + handle.height / 2
  while ((await monthOf(page, words)) !== words.july && y < track.y + track.height) await page.mouse.move(x, (y += 4))
  await becomes('the month of the handle', () => monthOf(page, words), words.july)
  await config.shot('photos-dragging')
  await page.mouse.up()
  const first = cell(page, nameOf('july', 0))
  await first.locator('img').waitFor()
  equal('whether a picture of July is in the window', await seen(cell(page, nameOf('july', 3))), true)

  // a click scrolls the page, and the handle follows the page
  await page.mouse.click(x, track.y + track.height - 2)
  await becomes('the last month', () => monthOf(page, words), words.last)
  equal('whether the last picture is in the window', await seen(cell(page, nameOf('last', 4))), true)
  await page.mouse.move(400, 400)
  await page.mouse.wheel(0, -100_000)
  await becomes('whether the first picture is in the window', () => seen(cell(page, nameOf('march', 0))), true)
  const newest = await page.getByRole('heading', { level: 2 }).first().innerText()
  await becomes('the newest month', () => monthOf(page, words), newest)
  equal('faults of the end', await inspect(page), [])
}

async function byKeys(page, config) {
  const words = say(config)
  await enterAlbum(page, config)
  await open(page, words)
  await cell(page, nameOf('march', 0)).waitFor()

  // the scrubber
  const handle = slider(page, words)
  await handle.focus()
  const press = async (key, month) => {
    await page.keyboard.press(key)
    await becomes(`the month after ${key}`, () => handle.getAttribute('aria-valuetext'), month)
  }
  await press('ArrowDown', words.july)
  await page.getByRole('heading', { level: 2, name: words.july }).waitFor()
  equal(
    'whether the heading is in the window',
    await seen(page.getByRole('heading', { level: 2, name: words.july })),
    true,
  )
  await press('ArrowDown', words.june)
  await press('ArrowDown', words.may)
  await press('ArrowUp', words.june)
  await press('End', words.last)
  await press(
    'PageUp',
    await page.evaluate(
      ([locale]) =>
        new Intl.DateTimeFormat(locale, { year: 'numeric', month: 'long', timeZone: 'UTC' }).format(
          Date.parse('2024-08'),
        ),
      [config.language],
    ),
  )
  await press('PageUp', words.july)
  equal('faults of the scrubber', await inspect(page), [])
  await config.shot('photos-keys')

  // pictures
  await cell(page, nameOf('july', 0)).focus()
  await page.keyboard.press('Home')
  await until('the first picture', () =>
    page.evaluate((name) => document.activeElement.querySelector('a')?.title === name, nameOf('march', 0)),
  )
  const focused = () => page.evaluate(() => document.activeElement.querySelector('a')?.title)
  for (let n = 0; n < 10; n++) await page.keyboard.press('ArrowRight')
  await becomes('the picture after the last of a month', focused, nameOf('july', 0))
  await page.keyboard.press('ArrowUp')
  equal('the month above', /^march/.test(await focused()), true)
  await page.keyboard.press('ArrowDown')
  equal('the month below', /^july/.test(await focused()), true)

  // the viewer goes on over the end of a month
  await cell(page, nameOf('march', 9)).focus()
  await page.keyboard.press('Home')
  for (let n = 0; n < 9; n++) await page.keyboard.press('ArrowRight')
  await becomes('the last picture of a month', focused, nameOf('march', 9))
  await page.keyboard.press('Enter')
  const viewer = page.getByRole('dialog')
  await viewer.getByText(nameOf('march', 9)).first().waitFor()
  await page.keyboard.press('ArrowRight')
  await viewer.getByText(nameOf('july', 0)).first().waitFor()
  await page.keyboard.press('ArrowLeft')
  await viewer.getByText(nameOf('march', 9)).first().waitFor()
  await page.keyboard.press('ArrowRight')
  await viewer.getByText(nameOf('july', 0)).first().waitFor()
  await page.keyboard.press('Escape')
  await viewer.waitFor({ state: 'detached' })
  await becomes('the picture after the viewer', focused, nameOf('july', 0))

  // a month, by its heading
  await page.keyboard.press('Escape')
  const box = page.getByRole('checkbox', { name: words.choose(words.july) })
  await box.focus()
  await page.keyboard.press('Space')
  equal('the selected month', await box.getAttribute('aria-checked'), 'true')
  const bar = page.getByRole('toolbar', { name: words.forChosen })
  await bar.getByText(words.chosen(8), { exact: true }).waitFor()
  equal(
    'the selected pictures',
    await page
      .locator('[role=gridcell][aria-selected=true]')
      .evaluateAll((all) => all.every((one) => one.querySelector('a').title.startsWith('july'))),
    true,
  )
  equal('faults of the selection', await inspect(page), [])
  await config.shot('photos-selected')
  await cell(page, nameOf('july', 2)).focus()
  await page.keyboard.press('Control+Space')
  await bar.getByText(words.chosen(7), { exact: true }).waitFor()
  equal('the rest of the month', await box.getAttribute('aria-checked'), 'mixed')
  await box.click()
  await bar.getByText(words.chosen(8), { exact: true }).waitFor()
  await box.click()
  await bar.waitFor({ state: 'detached' })
  equal('the month', await box.getAttribute('aria-checked'), 'false')
}

// opensIn sets the folder that the account opens after its sign-in.
const opensIn = (page, path) =>
  page.evaluate(async (defaultPath) => {
    const { data } = await (await fetch('/api/auth/csrf-token')).json()
    const headers = { 'X-CSRF-Token': data.token, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ defaultPath })
    const { status } = await fetch('/api/users/me/settings', { method: 'PUT', headers, body })
    if (status !== 200) throw new Error(`the settings were answered with ${status}`)
  }, path)

async function changes(page, config) {
  const words = say(config)
  const own = await enterNew(page, config)

  // Photos offers no uploads to an account that may not add files to its opening folder
  const upload = page.getByRole('main').getByRole('button', { name: words.upload, exact: true }).first()
  await opensIn(page, '/public')
  const asked = page.waitForResponse((answer) => answer.url().includes('/api/files?path=%2Fpublic&type=folder'))
  await page.goto('/app/photos')
  await asked
  await page.getByText(words.none).waitFor()
  equal('whether Photos offers uploads', await upload.isVisible(), false)
  await opensIn(page, `/home/${own.username}`)
  await page.goto('/app/photos')
  await page.getByText(words.none).waitFor()
  await upload.waitFor()
  equal('faults of the empty page', await inspect(page), [])
  await config.shot('photos-empty')

  // uploads appear by themselves, and then in their proportions
  const pictures = await config.ask(
    'photographs',
    photographs().filter(({ name }) => /^(july|june)/.test(name)),
  )
  const files = pictures.map(({ name, bytes }) => ({
    name,
    mimeType: 'image/jpeg',
    buffer: Buffer.from(bytes, 'base64'),
  }))
  await give(page, () => upload.click(), files)
  await page.getByRole('heading', { level: 2, name: words.july }).waitFor()
  await page.getByRole('heading', { level: 2, name: words.june }).waitFor()
  const narrow = cell(page, nameOf('july', 1)) // 320 × 480
  await examined(page)
  await until('the proportions of all new pictures', async () =>
    (await cells(page)).every(({ name, width, height }) => {
      const [across, down] = shapes[(Number(/\d+/.exec(name)[0]) - 1) % shapes.length]
      return Math.abs(width - (height * across) / down) <= 1.001 + (0.5 * across) / down // whole pixels
    }),
  )

  // pictures that another client adds appear by themselves, and those above the window move nothing
  const below = cell(page, nameOf('june', 0))
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
  await becomes('whether the page has scrolled', () => page.evaluate(() => scrollY > 150), true)
  const { y } = await below.boundingBox()
  await createFolder(page, own, 'Later', await config.ask('photographs', photographs().slice(0, 4)))
  await becomes('the number of pictures', () => status(page).innerText(), words.items(18))
  await examined(page)
  await becomes('the place of a picture in the window', async () => Math.round((await below.boundingBox()).y - y), 0)
  await page.keyboard.press('Home')

  // a click opens, and Back returns
  await narrow.click()
  const viewer = page.getByRole('dialog')
  await viewer.getByText(nameOf('july', 1)).first().waitFor()
  await page.keyboard.press('i')
  await viewer.getByText(/^320 × 480/).waitFor()
  await viewer.getByText('SHA-256', { exact: true }).waitFor()
  equal('faults of the details', await inspect(page), [])
  await config.shot('photos-details')
  await page.goBack()
  await viewer.waitFor({ state: 'detached' })

  // a star
  await narrow.focus()
  await page.keyboard.press('Alt+KeyS')
  await narrow.getByRole('img', { name: words.favourite }).waitFor()

  // the trash, and back
  await narrow.hover()
  const copy = narrow.getByRole('button', { name: words.copyLinkOf(nameOf('july', 1)) })
  await becomes(
    'the button that copies the link',
    () => copy.evaluate((button) => getComputedStyle(button).opacity),
    '1',
  )
  await config.shot('photos-hover')
  await narrow.getByRole('checkbox').click()
  await page.keyboard.press('Delete')
  await page.getByText(words.trash(nameOf('july', 1))).waitFor()
  const undo = page.getByRole('button', { name: words.undo })
  await undo.hover() // a message stays under the pointer
  await narrow.waitFor({ state: 'detached' })
  await undo.click()
  await narrow.waitFor()

  // videos alone
  const kinds = page.getByRole('group', { name: words.kind })
  await kinds.getByRole('button', { name: words.videos }).click()
  await page.getByText(words.noVideos).waitFor()
  equal('the address', new URL(page.url()).searchParams.get('kind'), 'video')
  equal('faults of the page without videos', await inspect(page), [])
  const video = { name: 'wave.mp4', mimeType: 'video/mp4', buffer: Buffer.from('no real video') }
  await give(page, () => upload.click(), [video])
  await cell(page, 'wave.mp4').getByText('wave.mp4').waitFor()
  equal('the videos', await page.getByRole('gridcell').count(), 1)
  await page.reload()
  await cell(page, 'wave.mp4').waitFor()
  const renamed = await idOf(page, `/home/${own.username}/wave.mp4`)
  await api(page, 'PUT', `/api/files/${renamed}`, { name: 'surf.mp4' }) // as another client does
  await cell(page, 'surf.mp4').waitFor()
  await kinds.getByRole('button', { name: words.all, exact: true }).click()
  await narrow.waitFor()
  equal('the address of all', new URL(page.url()).searchParams.has('kind'), false)

  // the menu leads to the folder
  await narrow.focus()
  await narrow.click({ button: 'right' })
  await page.getByRole('menuitem', { name: words.showIn }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/app/files/'))
}

async function looks(page, config) {
  const words = say(config)
  await enterAlbum(page, config)
  await page.goto('/app/photos')
  await cell(page, nameOf('march', 0)).waitFor()
  await until('the pictures', () =>
    page.locator('[role=grid] img').evaluateAll((all) => all.length > 4 && all.every((one) => one.naturalWidth > 0)),
  )
  equal('faults of the page', await inspect(page), [])
  equal('cramped elements', await cramped(page, config), [])
  await config.shot('photos-page')
  if (!isPhone(config.size)) return

  // a finger at the edge leads to July, once the track is seen; no control of a picture is below it
  const edge = slider(page, words).locator('..')
  await page.evaluate(() => scrollBy(0, 60))
  await until('the track', () => edge.evaluate((track) => getComputedStyle(track).pointerEvents === 'auto'))
  const track = await edge.boundingBox()
  const right = Math.max(...(await cells(page)).map(({ left, width }) => left + width))
  equal('whether the track is beside the pictures', right <= track.x, true)
  const client = await page.context().newCDPSession(page)
  const touch = (type, y) =>
    client.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x: track.x + 14, y }] })
  let y = track.y + 4
  await touch('touchStart', y)
  while ((await monthOf(page, words)) !== words.july && y < track.y + track.height) await touch('touchMove', (y += 4))
  await becomes('the month of the handle', () => monthOf(page, words), words.july)
  await config.shot('photos-touch')
  await touch('touchEnd')
  await cell(page, nameOf('july', 0)).locator('img').waitFor()
  equal('whether a picture of July is in the window', await seen(cell(page, nameOf('july', 2))), true)
}

// pretend answers in place of the server, with months of pictures in four shapes.
async function pretend(page, months) {
  const ratios = shapes.map(([width, height]) => Math.round((width / height) * 100) / 100)
  const asked = []
  const picture = png(24, 16, 0.6)
  await page.route('**/api/files/*/thumbnail?*', (route) => route.fulfill({ body: picture, contentType: 'image/png' }))
  await page.route(/\/api\/files\/timeline(\?|$)/, (route) => {
    const all = months.map(({ month, count }) => ({
      month,
      count,
      ratios: Array.from({ length: count }, (_, nth) => ratios[nth % 4]),
    }))
    return route.fulfill({ json: { success: true, data: { months: all }, timestamp: 0 } })
  })
  const begins = [0]
  for (const { count } of months) begins.push(begins.at(-1) + count)
  await page.route('**/api/files/timeline/revision', (route) =>
    route.fulfill({ json: { success: true, data: { revision: 'one', total: begins.at(-1) }, timestamp: 0 } }),
  )
  const entry = (index) => {
    const nth = begins.findLastIndex((begin) => begin <= index)
    const at = index - begins[nth]
    const [width, height] = shapes[at % 4]
    const name = `picture ${String(index).padStart(6, '0')}.jpg`
    const takenAt = Date.parse(`${months[nth].month}-28`) - at * 1000
    const entry = {
      id: `p${index}`,
      name,
      path: '/home',
      type: 'file',
      size: 1000,
      mimeType: 'image/jpeg',
      width,
      height,
    }
    const more = { hasPassword: false, customTitle: null, customColor: null, coverUrl: null, iconEmoji: null }
    const rest = { manualPosition: null, public: false, permissions: ['read', 'download'], orientation: 1 }
    return {
      ...entry,
      ...more,
      ...rest,
      createdAt: takenAt,
      updatedAt: takenAt,
      takenAt,
      thumbhash: '1QcSHQRnh493V4dIh4eXh1h4kJUI',
    }
  }
  await page.route(/\/api\/files\/timeline\/entries\?/, (route) => {
    const query = new URL(route.request().url()).searchParams
    asked.push(query.toString())
    const nth = months.findIndex(({ month }) => month === query.get('month'))
    const first = query.has('cursor') ? Number(query.get('cursor')) : nth < 0 ? 0 : begins[nth]
    const from = first + Number(query.get('offset') ?? 0)
    const end = nth < 0 ? begins.at(-1) : begins[nth + 1]
    const to = Math.min(end, from + Number(query.get('limit')))
    const items = Array.from({ length: to - from }, (_, n) => entry(from + n))
    return route.fulfill({
      json: { success: true, data: { items, cursor: to < end ? String(to) : null }, timestamp: 0 },
    })
  })
  return asked
}

// A hundred thousand pictures in twenty years: few of them are in the document at any time, and the
// way to the middle takes few requests. The times are reported and have no limits, because they
// depend on the machine and its load.
async function scrollsFar(page, config) {
  const words = say(config)
  const months = Array.from({ length: 200 }, (_, nth) => {
    const month = 2026 * 12 + 2 - nth
    return { month: `${Math.floor(month / 12)}-${two((month % 12) + 1)}`, count: nth % 2 ? 200 : 800 }
  })
  const asked = await pretend(page, months)
  await enter(page, config, '')
  await page.goto('/app/photos')
  await cell(page, 'picture 000000.jpg').waitFor()
  equal('the requests of the first page', asked.splice(0), ['limit=200'])
  const { most, ...costs } = await scroll(page, '[role=gridcell]')
  equal('whether few pictures are in the document', most > 20 && most <= 150, true)
  asked.splice(0)
  const jump = await jumpToMiddle(page, '[role=gridcell] a')
  equal('whether the middle was reached', jump < 20_000, true)
  equal('whether few requests led there', asked.length <= 6, true)
  config.figure('100,000 photos', { ...costs, jump, most })
  await config.shot('photos-middle')
  await slider(page, words).focus()
  await page.keyboard.press('End')
  await page.getByRole('heading', { level: 2, name: 'August 2009' }).waitFor()
  await cell(page, 'picture 099800.jpg').waitFor()
  const track = await slider(page, words).locator('..').boundingBox()
  await page.mouse.click(track.x + track.width - 4, track.y + track.height - 1)
  await cell(page, 'picture 099999.jpg').waitFor()
  equal('whether the last picture is in the window', await seen(cell(page, 'picture 099999.jpg')), true)
  equal('whether few pictures are in the document at the end', (await page.getByRole('gridcell').count()) <= 150, true)
  await page.keyboard.press('Home')
  await cell(page, 'picture 000000.jpg').waitFor()
  await becomes('the newest month', () => monthOf(page, words), 'March 2026')
  equal('whether the first picture is in the window', await seen(cell(page, 'picture 000000.jpg')), true)
}

export const scenarios = [
  { name: 'the pictures of last July are found in Photos', forms: bothLanguages, run: isFound },
  { name: 'Photos by keyboard alone', forms: bothLanguages, run: byKeys },
  { name: 'Photos shows uploads and changes', forms: bothLanguages, run: changes },
  { name: 'Photos looks right', forms: everyWith('narrow', 'medium', 'wide'), run: looks },
  { name: 'a hundred thousand photos', forms: once, run: scrollsFar },
]
