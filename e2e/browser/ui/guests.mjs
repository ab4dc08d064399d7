// The public folders, as a visitor without an account sees them: "I send a friend the address of a
// public folder; he opens it, looks at the pictures, and takes one with him."
import { createFolder, enter } from './files.mjs'
import { bothLanguages, bothPhones, everyWith, few } from './forms.mjs'
import { becomes, equal, isPhone, until } from './harness.mjs'
import { api, arrived, done, lock, look, notes, pictures, saved, song, stranger } from './stranger.mjs'

const data = { name: 'data.bin', bytes: btoa('\0\x01\xfe\xff') } // neither text nor a picture

// The texts of the page, by language.
const texts = {
  'en-US': {
    download: 'Download',
    close: 'Close',
    next: 'Next',
    slideshow: 'Slideshow',
    location: 'Location',
    search: 'Search',
    clearSearch: 'Clear search',
    order: 'Order',
    newest: 'Newest first',
    nothing: 'Nothing found',
    signIn: 'Sign in',
    browse: 'Browse public files',
    unlock: 'Password needed',
    password: 'Access password',
    open: 'Open',
    wrong: 'Wrong password.',
    cancel: 'Cancel',
    lockedFolder: 'This needs a password.',
    enterPassword: 'Enter the password',
    unreachable: /Can't reach the server/,
    select: 'Select',
    waits: /^The server is busy\./,
  },
  'zh-CN': {
    download: '下载',
    close: '关闭',
    next: '下一个',
    slideshow: '幻灯片放映',
    location: '位置',
    search: '搜索',
    clearSearch: '清除搜索',
    order: '顺序',
    newest: '最新优先',
    nothing: '没有找到匹配的项目',
    signIn: '登录',
    browse: '浏览公开文件',
    unlock: '需要访问密码',
    password: '访问密码',
    open: '打开',
    wrong: '密码不正确。',
    cancel: '取消',
    lockedFolder: '需要访问密码。',
    enterPassword: '输入密码',
    unreachable: /无法连接/,
    select: '选择',
    waits: /^服务器繁忙/,
  },
}

async function opensFolder(page, config) {
  const say = texts[config.language]
  const name = `lake ${config.language} ${config.size}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, [...pictures, notes], '/public')
  await createFolder(page, config, 'Second day', pictures.slice(0, 2), folder)
  const guest = await stranger(page, config)
  const address = `${encodeURI(folder)}/`
  equal('the status', (await guest.goto(address)).status(), 200)
  await guest.getByRole('heading', { level: 2, name }).waitFor()
  await arrived(guest, pictures.length)
  await look(guest, config, 'guest-folder')
  if (!isPhone(config.size)) equal('the rows of the top bar', await rowsOf(guest.getByRole('banner')), 1)
  equal('requests for the account', guest.asked.filter((one) => /\/api\/files\?/.test(one)), [])

  await guest.getByRole('link', { name: 'lake 1.png' }).click()
  const viewer = guest.locator('dialog[open]')
  await viewer.getByRole('heading', { name: 'lake 1.png' }).waitFor()
  await look(guest, config, 'guest-viewer')
  await viewer.getByRole('button', { name: say.next }).click()
  await viewer.getByRole('heading', { name: 'lake 2.png' }).waitFor()
  const file = await saved(guest, () => viewer.getByRole('button', { name: say.download }).click())
  equal('the download', file.name, 'lake 2.png')
  equal('whether the bytes are the same', file.bytes.toString('base64') === pictures[1].bytes, true)
  await guest.goBack()
  await viewer.waitFor({ state: 'detached' })

  await guest.getByRole('link', { name: /^notes\.txt/ }).click()
  await viewer.getByText('a few words for a friend').waitFor()
  await viewer.getByRole('button', { name: say.close }).click()
  await guest.getByRole('link', { name: 'Second day' }).click()
  await guest.getByRole('heading', { level: 2, name: 'Second day' }).waitFor()
  await arrived(guest, 2)
  equal('the address', decodeURI(new URL(guest.url()).pathname), `${folder}/Second day/`)
  await guest.reload()
  await arrived(guest, 2)
  // a folder that could not load while offline loads when the network is back
  await guest.context().setOffline(true)
  await guest.getByRole('navigation', { name: say.location }).getByRole('link', { name, exact: true }).click()
  await guest.getByRole('alert').filter({ hasText: say.unreachable }).waitFor()
  await guest.context().setOffline(false)
  await arrived(guest, pictures.length)

  // another program still has no file there
  const answer = await guest.request.get(address, { headers: { Accept: 'application/json' } })
  equal('the status for a program', [answer.status(), (await answer.json()).error.code], [404, 'NOT_FOUND'])
  await done(guest)
}

// rowsOf returns in how many rows the buttons and links of a bar stand.
async function rowsOf(bar) {
  const tops = await bar.locator('a, button').evaluateAll((all) =>
    all.filter((one) => one.checkVisibility()).map((one) => {
      const { top, height } = one.getBoundingClientRect()
      return Math.round((top + height / 2) / 4)
    }),
  )
  return new Set(tops).size
}

async function finds(page, config) {
  const say = texts[config.language]
  const name = `find ${config.language} ${config.size}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, pictures.slice(0, 1), '/public')
  await createFolder(page, config, 'Deep', [{ ...notes, name: `deep ${name}.txt` }], folder)
  await createFolder(page, config, 'Order', pictures.slice(0, 3), folder)
  await api(page, 'PATCH', '/api/admin/settings', { siteDescription: 'Pictures of our lakes' })
  const guest = await stranger(page, config)
  await guest.goto('/app/login')
  await guest.getByRole('link', { name: say.browse }).click()
  // the only public folder opens directly
  await guest.waitForURL((url) => url.pathname === '/public/')
  await guest.getByText('Pictures of our lakes').waitFor()
  await api(page, 'PATCH', '/api/admin/settings', { siteDescription: '' })
  await guest.getByRole('link', { name, exact: true }).waitFor()
  await look(guest, config, 'guest-start')

  const field = guest.getByRole('searchbox', { name: say.search })
  const focused = () => field.evaluate((one) => one === document.activeElement)
  await guest.keyboard.press('/')
  await becomes('whether "/" focuses the search', () => focused(), true)
  await field.fill(`deep ${name}`)
  await guest.getByRole('link', { name: new RegExp(`^deep ${name}\\.txt ?${folder}/Deep`) }).waitFor()
  await look(guest, config, 'guest-search')
  await field.fill('nothing has this name')
  await guest.getByRole('heading', { name: say.nothing }).waitFor()
  await guest.getByRole('button', { name: say.clearSearch }).click()
  equal('whether the cleared search keeps the focus', [await focused(), await field.inputValue()], [true, ''])
  await guest.getByRole('link', { name, exact: true }).click()
  await guest.getByRole('link', { name: 'Order' }).click()
  await arrived(guest, 3)
  const shown = guest.locator('main').getByRole('link', { name: /^lake/ })
  const order = () => shown.evaluateAll((all) => all.map((one) => one.ariaLabel))
  equal('the order', await order(), ['lake 1.png', 'lake 2.png', 'lake 3.png'])
  await guest.getByLabel(say.order).selectOption(say.newest)
  await until('the newest first', async () => (await order()).join() === 'lake 3.png,lake 2.png,lake 1.png')

  await guest.getByRole('link', { name: say.signIn }).click()
  await guest.waitForURL((url) => url.pathname === '/app/login')
  await guest.getByLabel(/^(User name|用户名)/).fill(config.username)
  await guest.getByLabel(/^(Password|密码)$/).fill(config.password)
  await guest.keyboard.press('Enter')
  await guest.waitForURL((url) => decodeURI(url.pathname) === `/app/files${folder}/Order`)
  await done(guest)
}

async function asksPasswords(page, config) {
  const say = texts[config.language]
  const name = `locked ${config.language} ${config.size}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, [notes, pictures[0], data], '/public')
  await passwordRule(page, `${folder}/data.bin`, 'sesame of the rule')
  const inside = await createFolder(page, config, 'Inside', pictures.slice(0, 2), folder)
  await lock(page, inside)
  await lock(page, `${folder}/lake 1.png`)
  const guest = await stranger(page, config)
  await guest.goto(`${encodeURI(folder)}/`)
  const asks = guest.getByRole('dialog', { name: say.unlock })
  const give = async (password) => {
    await asks.getByLabel(say.password, { exact: true }).fill(password)
    await guest.keyboard.press('Enter')
  }
  await guest.getByRole('link', { name: /^Inside/ }).click()
  await asks.waitFor()
  await look(guest, config, 'guest-password')
  await give('wrong')
  await asks.getByText(say.wrong).waitFor()
  await asks.getByRole('button', { name: say.cancel }).click()
  await guest.getByText(say.lockedFolder).waitFor()
  await look(guest, config, 'guest-locked')
  await guest.getByRole('button', { name: say.enterPassword }).click()
  await give('open sesame')
  await asks.waitFor({ state: 'detached' })
  await arrived(guest, 2)
  await guest.goBack()

  await guest.getByRole('link', { name: /lake 1\.png/ }).click()
  await asks.waitFor()
  await give('open sesame')
  await asks.waitFor({ state: 'detached' })
  const shown = guest.locator('dialog[open]').getByRole('img', { name: 'lake 1.png' })
  await until('the picture', () => shown.evaluate((image) => image.complete && image.naturalWidth > 0))

  // a file without preview asks before its download, here for the password of a rule
  await guest.keyboard.press('Escape')
  await guest.locator('dialog[open]').waitFor({ state: 'detached' })
  await guest.getByRole('link', { name: /^data\.bin/ }).click()
  const viewer = guest.locator('dialog[open]')
  await viewer.getByRole('button', { name: say.download }).first().click()
  await asks.waitFor()
  await asks.getByLabel(say.password, { exact: true }).fill('sesame of the rule')
  const file = await saved(guest, () => guest.keyboard.press('Enter'))
  equal('the download', [file.name, file.bytes.toString('base64')], ['data.bin', data.bytes])

  // the address of a locked folder asks at once
  const other = await stranger(page, config)
  equal('the status', (await other.goto(`${encodeURI(inside)}/`)).status(), 403)
  await other.getByRole('dialog', { name: say.unlock }).waitFor()
  await done(other)
  await done(guest)
}

// passwordRule makes the download of a path need the password of a rule, for visitors.
async function passwordRule(page, pathPattern, password) {
  const rule = { pathPattern, role: 'guest', permissions: ['download'], priority: 10 }
  await api(page, 'POST', '/api/admin/rules', { ...rule, effect: 'deny' })
  const asking = { effect: 'allow', requirePassword: true, password, priority: 20 }
  await api(page, 'POST', '/api/admin/rules', { ...rule, ...asking })
}

// A visitor who may look at some files only is offered no download of them.
async function looksOnly(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const name = `look ${config.language}`
  const folder = await createFolder(page, config, name, [...pictures.slice(0, 3), notes, song], '/public')
  for (const pathPattern of [`${folder}/lake 3.png`, `${folder}/song.wav`])
    await api(page, 'POST', '/api/admin/rules', {
      pathPattern,
      effect: 'deny',
      role: 'guest',
      permissions: ['download'],
      priority: 10,
    })
  const guest = await stranger(page, config)
  await guest.goto(`${encodeURI(folder)}/`)
  await arrived(guest, 2)
  const main = guest.getByRole('main')
  const downloads = main.getByRole('button', { name: say.download })
  equal('what has a download', await downloads.evaluateAll((all) => all.map((one) => one.ariaLabel)), [
    `${say.download}: notes.txt`,
  ])
  await main.getByRole('link', { name: /^song\.wav/ }).click()
  const viewer = guest.locator('dialog[open]')
  await viewer.getByRole('heading', { level: 2, name: 'song.wav' }).waitFor()
  equal('buttons in the viewer', await viewer.getByRole('button', { name: say.download }).count(), 0)
  await viewer.getByRole('button', { name: say.close }).click()
  await viewer.waitFor({ state: 'detached' })
  await guest.getByRole('button', { name: say.select, exact: true }).click()
  const choices = guest.getByRole('checkbox')
  await choices.first().waitFor()
  equal('what can be chosen', await choices.evaluateAll((all) => all.map((one) => !one.disabled)), [
    true,
    true,
    false,
    true,
    false,
  ])
  await look(guest, config, 'guest-look-only')
  await done(guest)
}

// A visitor who searches too often waits behind one line, and then has the result.
async function waits(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const name = `wait ${config.language}`
  const folder = await createFolder(page, config, name, [notes], '/public')
  const guest = await stranger(page, config)
  await guest.goto(`${encodeURI(folder)}/`)
  await guest.getByRole('link', { name: /^notes\.txt/ }).waitFor()
  let refused = 0
  const busy = {
    status: 429,
    headers: { 'Retry-After': '5' },
    json: { success: false, error: { code: 'RATE_LIMIT_EXCEEDED', message: 'Please wait a moment.' } },
  }
  await guest.route(/\/api\/public\/files\?.*search=/, (route) =>
    refused++ === 0 ? route.fulfill(busy) : route.continue(),
  )
  await guest.getByRole('searchbox', { name: say.search }).fill('notes')
  await guest.getByRole('status').filter({ hasText: say.waits }).waitFor()
  equal('alerts', await guest.getByRole('alert').count(), 0)
  await guest.getByRole('link', { name: new RegExp(`^notes\\.txt ?${folder}`) }).waitFor()
  await done(guest)
}

export const scenarios = [
  { name: 'a visitor opens a public folder', forms: everyWith('narrow'), run: opensFolder },
  { name: 'a visitor finds a public file', forms: few, run: finds },
  { name: 'a visitor opens what has a password', forms: bothPhones, run: asksPasswords },
  { name: 'a visitor may look at a file only', forms: bothPhones, run: looksOnly },
  { name: 'a visitor waits after too many searches', forms: bothLanguages, run: waits },
]
