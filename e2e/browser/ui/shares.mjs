// Shares, as their creator makes and manages them, and as a stranger on a phone meets them.
import { clipboard } from './copying.mjs'
import { createFolder, enter } from './files.mjs'
import { bothLanguages, everyWith, once } from './forms.mjs'
import { becomes, equal, inspect, isPhone, until } from './harness.mjs'
import { Keys } from './keyboard.mjs'
import { labels } from './labels.mjs'
import { fromMenu } from './panels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'
import { api, done, share, stranger } from './stranger.mjs'

// The texts of the screens, by language.
export const texts = {
  'en-US': {
    shares: 'My shares',
    share: 'Share',
    shareOne: 'Share…',
    shareFolder: 'Share this folder…',
    shareTitle: (name) => `Share “${name}”`,
    create: 'Create and copy link',
    options: 'Options',
    password: 'Password',
    generate: 'Generate',
    days: (n) => `${n} days`,
    exact: 'Pick a time',
    exactLabel: 'Expires at',
    maxViews: 'View limit',
    maxDownloads: 'Download limit',
    title: 'Title',
    shared: (name) => `“${name}” is shared`,
    copied: 'Link copied. You can send it now.',
    copiedOf: (name) => `Link of “${name}” copied.`,
    link: 'Link',
    both: 'Copy link and password',
    qr: 'QR code',
    qrShown: 'QR code of the share',
    folderFrom: (name) => `${name} shared a folder with you`,
    open: 'Open',
    until: /^Until /,
    wrongTitle: 'Use at most 200 characters, and no control characters.',
    wrongPassword: 'Enter 1 to 128 characters.',
    wrongExpiry: 'Choose a time at least a minute and at most a year from now.',
    wrongLimit: 'Enter a whole number from 1 to 1,000,000,000, or leave this empty.',
    lacks: "You don't have permission to share this.",
    gone: "The file was deleted, or you can't see it any more.",
    edit: (name) => `Edit the share of “${name}”`,
    copyOf: (name) => `Copy the link of ${name}`,
    actionsFor: (name) => `Actions for ${name}`,
    asks: 'Asks for a password',
    remove: 'Remove',
    change: 'Change',
    saved: 'Changes saved',
    count: (n, most) => `${n} of ${most}`,
    never: 'Never',
    usedUp: 'Used up',
    isGone: 'File is gone',
    active: 'Active',
    expired: 'Expired',
    revoked: 'Revoked',
    state: 'Status',
    filters: /^Filters/,
    extend: 'Extend by 7 days',
    extended: (name) => new RegExp(`^“${name}” now expires on `),
    extendedMany: '2 shares extended by 7 days.',
    inAWeek: 'in 7 days',
    revoke: 'Revoke…',
    revokeNow: 'Revoke',
    revokeOf: (name) => `Revoke the share of “${name}”?`,
    revokeMany: 'Revoke 2 shares?',
    revokedOne: 'Share revoked. Its link no longer works.',
    revokedMany: '2 shares revoked. The links no longer work.',
    select: (name) => `Select ${name}`,
    selected: '2 selected',
    goTo: 'Go to the file',
    visit: 'Open as a visitor',
    ended: 'This share no longer works',
    noMoreViews: 'This share is used up',
    empty: "You haven't shared anything yet",
    toFiles: 'Go to files',
    active1: '1 share',
  },
  'zh-CN': {
    shares: '我的分享',
    share: '分享',
    shareOne: '分享…',
    shareFolder: '分享此文件夹…',
    shareTitle: (name) => `分享“${name}”`,
    create: '创建并复制链接',
    options: '选项',
    password: '密码',
    generate: '生成',
    days: (n) => `${n} 天`,
    exact: '指定时间',
    exactLabel: '失效时间',
    maxViews: '最多查看次数',
    maxDownloads: '最多下载次数',
    title: '标题',
    shared: (name) => `“${name}”已分享`,
    copied: '链接已复制，可以发给对方了。',
    copiedOf: (name) => `已复制“${name}”的链接。`,
    link: '链接',
    both: '复制链接和密码',
    qr: '二维码',
    qrShown: '分享链接的二维码',
    folderFrom: (name) => `${name} 向您分享了一个文件夹`,
    open: '打开',
    until: /^有效期至 /,
    wrongTitle: '标题最多 200 个字符，不能包含控制字符。',
    wrongPassword: '请输入 1 到 128 个字符。',
    wrongExpiry: '请选择一分钟之后、一年之内的时间。',
    wrongLimit: '请输入 1 到 1,000,000,000 的整数，或留空。',
    lacks: '您没有此项目的“分享”权限。',
    gone: '文件已被删除，或您已无权查看。',
    edit: (name) => `编辑分享“${name}”`,
    copyOf: (name) => `复制 ${name} 的链接`,
    actionsFor: (name) => `${name} 的操作`,
    asks: '需要密码',
    remove: '移除',
    change: '更换',
    saved: '更改已保存',
    count: (n, most) => `${n} / ${most}`,
    never: '永久',
    usedUp: '次数已用完',
    isGone: '文件已不存在',
    active: '有效',
    expired: '已过期',
    revoked: '已撤销',
    state: '状态',
    filters: /^筛选/,
    extend: '延长 7 天',
    extended: (name) => new RegExp(`^“${name}”的有效期已延长至 `),
    extendedMany: '已将 2 个分享延长 7 天。',
    inAWeek: '7天后',
    revoke: '撤销…',
    revokeNow: '撤销',
    revokeOf: (name) => `撤销分享“${name}”？`,
    revokeMany: '撤销 2 个分享？',
    revokedOne: '分享已撤销，链接不再可用。',
    revokedMany: '已撤销 2 个分享，链接不再可用。',
    select: (name) => `选择 ${name}`,
    selected: '已选 2 项',
    goTo: '查看文件',
    visit: '以访客身份打开',
    ended: '分享已失效',
    noMoreViews: '查看次数已用完',
    empty: '还没有分享',
    toFiles: '前往文件',
    active1: '1 个分享',
  },
}

const phone = (config) => ({ ...config, size: 'phone' })
const picture = { name: 'lake.png', bytes: png(480, 320, 0.4).toString('base64') }
const text = (name) => ({ name, bytes: btoa('a few words') })
const exactly = (name) => new RegExp(`^${name.replaceAll(/[.…]/g, '\\$&')}`)

async function look(page, config, what) {
  equal(`faults of ${what}`, await inspect(page), [])
  equal(`what does not fit in ${what}`, await cramped(page, config), [])
  await config.shot(`shares-${what}`)
}

// openShares opens the screen of shares by the navigation.
async function openShares(page, config) {
  const say = texts[config.language]
  if (isPhone(config.size)) {
    await page.getByRole('button', { name: labels[config.language].pages, exact: true }).click()
    await page.getByRole('menuitem', { name: say.shares }).click()
  } else await page.getByRole('navigation').getByRole('link', { name: say.shares }).click()
  await page.getByRole('heading', { level: 1, name: say.shares }).waitFor()
}

const row = (page, name) => page.getByRole('row').filter({ hasText: name })

// makeShare shares an entry of the folder on the screen for 7 days, with a generated password. It
// returns the link and the password of the copied text.
export async function makeShare(page, config, name) {
  const say = texts[config.language]
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await fromMenu(page, labels[config.language], exactly(name), say.shareOne)
  const dialog = page.getByRole('dialog', { name: say.shareTitle(name) })
  await dialog.waitFor()
  await look(page, config, 'dialog')
  await dialog.getByText(say.options).click()
  await dialog.getByRole('button', { name: say.generate }).click()
  await dialog.getByRole('radio', { name: say.days(7), exact: true }).check()
  await look(page, config, 'options')
  const generated = await dialog.getByLabel(say.password, { exact: true }).inputValue()
  equal('the form of the password', /^[a-z2-9]{4}(-[a-z2-9]{4}){2}$/.test(generated), true)
  await dialog.getByRole('button', { name: say.create }).click()
  const made = page.getByRole('dialog', { name: say.shared(name) })
  await made.getByText(say.copied).waitFor()
  await made.getByRole('button', { name: say.qr }).click()
  await made.getByRole('img', { name: say.qrShown }).waitFor()
  await look(page, config, 'made')
  const copied = await clipboard(page, () => made.getByRole('button', { name: say.both }).click())
  await page.keyboard.press('Escape')
  await made.waitFor({ state: 'detached' })
  const focused = () => page.evaluate(() => document.activeElement !== document.body)
  await becomes('whether an element has the focus', focused, true)
  const [link, password] = copied.split('\n').map((line) => line.replace(/^.*?[:：]\s?/, ''))
  equal('the password in the text', password, generated)
  return { link, password }
}

// enterShare opens the link of a folder with a password as a stranger on a phone, enters the
// password, and returns the page of the stranger.
export async function enterShare(page, config, { link, password }, name) {
  const say = texts[config.language]
  const guest = await stranger(page, phone(config))
  await guest.goto(link)
  await guest.getByRole('heading', { level: 1, name: say.folderFrom(config.username) }).waitFor()
  await becomes('whether the name is told before the password', () => guest.getByText(name).count(), 0)
  await guest.getByLabel(say.password, { exact: true }).fill(password)
  await guest.getByRole('button', { name: say.open, exact: true }).click()
  await guest.getByRole('heading', { level: 1, name }).waitFor()
  await guest.getByText(say.until).waitFor()
  return guest
}

// "I share a folder with a password and an expiry, and a stranger on a phone opens it by the copied
// text."
async function sharesFolder(page, config) {
  await enter(page, config, '')
  const name = `Holiday ${config.language} ${config.size}`
  const folder = await createFolder(page, config, name, [picture])
  await page.goto(`/app/files${folder.slice(0, folder.lastIndexOf('/'))}`)
  const guest = await enterShare(page, config, await makeShare(page, config, name), name)
  await guest.getByRole('link', { name: 'lake.png' }).waitFor()
  await done(guest)
}

// One click makes a share and copies its link; also where the page has no clipboard, as over plain
// http.
async function oneClick(page, config) {
  const say = texts[config.language]
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'One click', [picture])
  await page.goto(`/app/files${folder}`)
  const dialog = page.getByRole('dialog', { name: say.shareTitle('lake.png') })
  const made = page.getByRole('dialog', { name: say.shared('lake.png') })
  const file = page.getByRole('link', { name: /^lake\.png/ })
  await file.click()
  await page.getByRole('toolbar').getByRole('button', { name: say.share, exact: true }).click()
  const link = await clipboard(page, () => dialog.getByRole('button', { name: say.create }).click())
  equal('the link', /\/share\/[0-9A-Za-z]{12}$/.test(link), true)
  await made.getByText(say.copied).waitFor()
  await becomes('the link on the screen', () => made.getByLabel(say.link, { exact: true }).inputValue(), link)
  const guest = await stranger(page, phone(config))
  equal('the status', (await guest.goto(link)).status(), 200)
  await guest.getByRole('main').getByRole('img', { name: 'lake.png' }).waitFor()
  await done(guest)
  await page.keyboard.press('Escape')
  await made.waitFor({ state: 'detached' })

  // the details list it, and so does the folder's menu of its own
  await fromMenu(page, labels[config.language], /^lake\.png/, labels[config.language].details)
  const details = page.getByRole('complementary', { name: labels[config.language].details })
  await details.getByText(say.active1).waitFor()
  const again = await clipboard(page, () => details.getByRole('button', { name: /lake\.png$/ }).first().click())
  equal('the link in the details', again, link)
  await details.getByRole('button', { name: say.edit('lake.png') }).click()
  const edit = page.getByRole('dialog', { name: say.edit('lake.png') })
  await edit.getByLabel(say.title, { exact: true }).fill('The lake')
  await edit.getByRole('button', { name: labels[config.language].save }).click()
  await edit.waitFor({ state: 'detached' })
  await details.getByRole('link', { name: 'The lake' }).waitFor()
  await look(page, config, 'details')
  await details.getByRole('button', { name: labels[config.language].hideDetails }).click()

  await page.getByRole('button', { name: labels[config.language].display }).click()
  await page.getByRole('menuitem', { name: say.shareFolder }).click()
  await page.getByRole('dialog', { name: say.shareTitle('One click') }).waitFor()
  await page.keyboard.press('Escape')

  await page.addInitScript(() => delete Navigator.prototype.clipboard)
  await page.reload()
  equal('the clipboard of the page', await page.evaluate(() => typeof navigator.clipboard), 'undefined')
  await file.click()
  await page.getByRole('toolbar').getByRole('button', { name: say.share, exact: true }).click()
  await dialog.getByRole('button', { name: say.create }).click()
  await made.getByText(say.copied).waitFor()
  const shown = await made.getByLabel(say.link, { exact: true }).inputValue()
  equal('whether it is another share', shown === link, false)
  await page.keyboard.press('Escape')
  await made.waitFor({ state: 'detached' })
  await page.getByRole('searchbox').focus()
  await page.keyboard.press('Control+v')
  await until('the pasted link', async () => (await page.getByRole('searchbox').inputValue()) === shown)
}

// My shares: password and limits, extend, revoke, many at once; the stranger sees each end.
async function manages(page, config) {
  const say = texts[config.language]
  const { save } = labels[config.language]
  await enter(page, config, '')
  const names = ['one', 'two', 'three', 'four', 'five'].map((name) => `${name} ${config.language}.txt`)
  const folder = await createFolder(page, config, `Managed ${config.language}`, names.map(text))
  const ids = {}
  for (const name of names) ids[name] = await share(page, `${folder}/${name}`, { expiresIn: 3600 })
  const [one, two, three, four, five] = names
  await openShares(page, config)
  const guest = await stranger(page, phone(config))
  const meets = async (name, heading) => {
    await guest.goto(`/share/${ids[name]}`)
    await guest.getByRole('heading', { level: 1, name: heading }).waitFor()
  }
  const opens = async (name) => {
    await row(page, name).getByRole('button', { name: say.edit(name) }).click()
    const dialog = page.getByRole('dialog', { name: say.edit(name) })
    await dialog.waitFor()
    return dialog
  }
  const menu = async (name, action) => {
    await row(page, name).getByRole('button', { name: say.actionsFor(name) }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  const notice = (words) =>
    page.getByRole('region', { name: labels[config.language].notices }).getByText(words).last().waitFor()

  // a password and a limit of views
  let dialog = await opens(one)
  await dialog.getByLabel(say.password, { exact: true }).fill('open sesame')
  await dialog.getByLabel(say.maxViews).fill('1')
  await dialog.getByRole('button', { name: save }).click()
  const made = page.getByRole('dialog', { name: say.shared(one) })
  await becomes('the password', () => made.getByLabel(say.password, { exact: true }).inputValue(), 'open sesame')
  await page.keyboard.press('Escape')
  await row(page, one).getByText(say.count(0, 1)).waitFor()
  await row(page, one).getByRole('img', { name: say.asks }).waitFor()
  await guest.goto(`/share/${ids[one]}`)
  await guest.getByLabel(say.password, { exact: true }).fill('open sesame')
  await guest.getByRole('button', { name: say.open, exact: true }).click()
  await guest.getByRole('heading', { level: 1, name: one }).waitFor()
  await meets(one, say.noMoreViews)
  await page.reload()
  await row(page, one).getByText(say.usedUp).waitFor()
  await row(page, one).getByText(say.count(1, 1)).waitFor()

  // another password, then none, and no limit
  dialog = await opens(one)
  await dialog.getByRole('radio', { name: say.change, exact: true }).check()
  await dialog.getByRole('button', { name: save }).click()
  await dialog.getByText(say.wrongPassword).waitFor()
  await dialog.getByRole('radio', { name: say.remove, exact: true }).check()
  await dialog.getByLabel(say.maxViews).fill('')
  await dialog.getByRole('button', { name: save }).click()
  await dialog.waitFor({ state: 'detached' })
  await notice(say.saved)
  await row(page, one).getByText(say.active, { exact: true }).waitFor()
  await becomes('locks', () => row(page, one).getByRole('img', { name: say.asks }).count(), 0)
  await meets(one, one)

  // extend: from now where it is over, else from its end
  await menu(two, say.extend)
  await notice(say.extended(two))
  await row(page, two).getByText(say.inAWeek).waitFor()
  const { items } = await api(page, 'GET', '/api/shares/?limit=100')
  const before = items.find(({ id }) => id === ids[three]).expiresAt
  const after = items.find(({ id }) => id === ids[two]).expiresAt
  equal('whether the end moved by a week', Math.abs(after - before - 7 * 86_400_000) < 60_000, true)
  await config.ask('expireShare', { id: ids[two] })
  const filter = page.getByLabel(say.state, { exact: true })
  await filter.selectOption(say.expired)
  await page.waitForURL((url) => url.searchParams.get('status') === 'expired')
  await row(page, two).getByText(say.expired, { exact: true }).waitFor()
  await becomes('active ones', () => row(page, three).count(), 0)
  await menu(two, say.extend)
  await row(page, two).waitFor({ state: 'detached' })
  await meets(two, two)
  await page.goBack()
  await row(page, two).getByText(say.inAWeek).waitFor()

  // many at once
  for (const name of [three, four]) await row(page, name).getByRole('checkbox', { name: say.select(name) }).check()
  await page.getByText(say.selected).waitFor()
  const bar = page.getByRole('toolbar')
  await bar.getByRole('button', { name: say.extend }).click()
  await notice(say.extendedMany)
  for (const name of [three, four]) await row(page, name).getByText(say.inAWeek).waitFor()
  for (const name of [three, four]) await row(page, name).getByRole('checkbox', { name: say.select(name) }).check()
  await bar.getByRole('button', { name: say.revoke }).click()
  const asks = page.getByRole('dialog', { name: say.revokeMany })
  await look(page, config, 'revoke-many')
  await asks.getByRole('button', { name: say.revokeNow, exact: true }).click()
  await notice(say.revokedMany)
  for (const name of [three, four]) {
    await row(page, name).getByText(say.revoked, { exact: true }).waitFor()
    await meets(name, say.ended)
  }

  // one
  await menu(two, say.revoke)
  await page.getByRole('dialog', { name: say.revokeOf(two) }).getByRole('button', { name: say.revokeNow, exact: true }).click()
  await notice(say.revokedOne)
  await meets(two, say.ended)
  await becomes(
    'whether it can be changed',
    () => row(page, two).getByRole('button', { name: say.edit(two) }).isEnabled(),
    false,
  )

  // to the file, and to the share as a visitor
  const [popup] = await Promise.all([page.waitForEvent('popup'), menu(five, say.visit)])
  await popup.getByRole('heading', { level: 1, name: five }).waitFor()
  await popup.close()
  await menu(five, say.goTo)
  await page.getByRole('dialog').getByText('a few words').waitFor()
  await page.keyboard.press('Escape')

  // The file of a share is deleted. The service removes such a share within seconds; this is the
  // list that it sends until then.
  await page.route('**/api/shares/?*', async (route) => {
    const response = await route.fetch()
    const json = await response.json()
    json.data.items = json.data.items.map((it) => (it.id === ids[five] ? { ...it, title: '', file: null } : it))
    await route.fulfill({ response, json })
  })
  await openShares(page, config)
  const gone = row(page, say.gone).first()
  await gone.getByText(say.isGone).waitFor()
  await becomes('whether it can be changed', () => gone.getByRole('button').nth(1).isEnabled(), false)
  await look(page, config, 'gone')
  await done(guest)
}

// Bad input keeps the form, and the field names the fault.
async function refuses(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Refused ${config.language}`, [text('notes.txt'), text('gone.txt')])
  await page.goto(`/app/files${folder}`)
  const opens = async (name) => {
    await fromMenu(page, labels[config.language], exactly(name), say.shareOne)
    const dialog = page.getByRole('dialog', { name: say.shareTitle(name) })
    await dialog.getByText(say.options).click()
    return dialog
  }
  const local = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const day = 86_400_000
  const dialog = await opens('notes.txt')
  const field = (name) => dialog.getByLabel(name, { exact: true })
  const create = dialog.getByRole('button', { name: say.create })
  const wrong = async (name, value, words) => {
    await field(name).fill(value)
    await create.click()
    await dialog.getByText(words).waitFor()
    await becomes(`whether ${name} is marked`, () => field(name).getAttribute('aria-invalid'), 'true')
    await becomes(
      `whether ${name} has the focus`,
      () => field(name).evaluate((it) => it === document.activeElement),
      true,
    )
    await becomes(`what ${name} keeps`, () => field(name).inputValue(), value)
  }
  const right = (name, value) => field(name).fill(value)
  await wrong(say.title, 'x'.repeat(201), say.wrongTitle)
  await right(say.title, 'x'.repeat(200))
  for (const value of ['1000000001', '1.5', '-1', 'ten', '0']) await wrong(say.maxDownloads, value, say.wrongLimit)
  await right(say.maxDownloads, '1000000000')
  await wrong(say.maxViews, '0', say.wrongLimit)
  await right(say.maxViews, '1')
  await dialog.getByRole('radio', { name: say.exact }).check()
  await wrong(say.exactLabel, local(Date.now()), say.wrongExpiry) // the minute that has begun
  await wrong(say.exactLabel, local(Date.now() + 366 * day), say.wrongExpiry)
  await right(say.exactLabel, local(Date.now() + 364 * day))
  await wrong(say.password, 'p'.repeat(129), say.wrongPassword)
  await look(page, config, 'wrong')
  await right(say.password, 'p'.repeat(128))

  const refusal = { success: false, error: { code: 'FORBIDDEN', message: 'no', timestamp: 1 } }
  await page.route('**/api/shares/', (route) => route.fulfill({ status: 403, json: refusal }))
  await create.click()
  await dialog.getByText(say.lacks).waitFor()
  await becomes('what the form keeps', () => field(say.title).inputValue(), 'x'.repeat(200))
  await page.unroute('**/api/shares/')
  await create.click()
  await page.getByRole('dialog', { name: say.shared('notes.txt') }).waitFor()
  const [made] = (await api(page, 'GET', '/api/shares/?limit=1')).items
  equal('the share', [made.title, made.maxViews, made.maxDownloads, made.hasPassword], ['x'.repeat(200), 1, 1e9, true])
  equal('whether it lasts 364 days', Math.abs(made.expiresAt - Date.now() - 364 * day) < 180_000, true)
  await page.keyboard.press('Escape')

  // the file goes while the dialog is open
  const other = await opens('gone.txt')
  await other.getByLabel(say.title, { exact: true }).fill('kept')
  const { items } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  const fileIds = items.filter(({ name }) => name === 'gone.txt').map(({ id }) => id)
  await api(page, 'POST', '/api/files/batch', { action: 'delete', fileIds, targetPath: null })
  await other.getByRole('button', { name: say.create }).click()
  await other.getByText(say.gone).waitFor()
  await becomes('what the form keeps', () => other.getByLabel(say.title, { exact: true }).inputValue(), 'kept')
}

// Dialog and list by the keyboard alone.
async function byKeyboard(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Keys of shares', [text('alpha.txt'), text('beta.txt')])
  const k = new Keys(page, config, folder)
  await k.open()
  await k.entry('beta.txt')
  await k.menu(say.shareOne)
  await k.dialog(say.shareTitle('beta.txt')).waitFor()
  await k.at(say.create)
  await k.press('Enter')
  await k.dialog(say.shared('beta.txt')).waitFor()
  await k.at(say.link)
  await k.press('Escape')
  await k.closed()
  await k.at('beta.txt')

  await k.press('Control+k')
  await k.at(labels[config.language].find)
  await page.keyboard.type('Share this folder')
  await k.press('Enter')
  await k.dialog(say.shareTitle('Keys of shares')).waitFor()
  await k.at(say.create)
  await k.to(say.options, 'Shift+Tab')
  await k.press('Enter')
  await k.to(say.maxViews)
  await page.keyboard.type('0')
  await k.press('Enter')
  await k.at(say.maxViews) // the field at fault
  await k.type('3')
  await k.press('Enter')
  await k.dialog(say.shared('Keys of shares')).waitFor()
  await k.press('Escape')
  await k.closed()

  await page.goto('/app/shares')
  await row(page, 'beta.txt').waitFor()
  await k.to(say.select('beta.txt'))
  await k.press('Space')
  await k.to(say.copyOf('beta.txt'))
  await k.press('Enter')
  await k.shows(say.copiedOf('beta.txt'))
  await k.to(say.edit('beta.txt'))
  await k.press('Enter')
  await k.dialog(say.edit('beta.txt')).waitFor()
  await k.to(say.maxDownloads)
  await page.keyboard.type('5')
  await k.press('Enter')
  await k.closed()
  await k.at(say.edit('beta.txt'))
  await row(page, 'beta.txt').getByText(say.count(0, 5)).waitFor()
  await k.to(say.actionsFor('beta.txt'))
  await k.press('Enter')
  await k.to(say.revoke, 'ArrowDown')
  await k.press('Enter')
  await k.at(labels[config.language].cancel)
  await k.to(say.revokeNow)
  await k.press('Enter')
  await k.closed()
  await row(page, 'beta.txt').getByText(say.revoked, { exact: true }).waitFor()
  await k.press('Tab')
}

async function looks(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const name = `Looks ${config.size} ${config.language} ${config.theme}`
  const long = 'a very long name of a file that somebody has given without a single thought for the width of a list.txt'
  const folder = await createFolder(page, config, name, [picture, text(long), text('notes.txt')])
  await share(page, `${folder}/lake.png`, { title: 'The lake', expiresIn: 3 * 86_400, maxViews: 10, password: 'x' })
  await share(page, `${folder}/${long}`, { maxDownloads: 3 })
  await config.ask('expireShare', { id: await share(page, `${folder}/notes.txt`, { expiresIn: 60 }) })
  await api(page, 'DELETE', `/api/shares/${await share(page, folder)}`)
  await openShares(page, config)
  await row(page, 'The lake').first().waitFor()
  await page.waitForFunction(() =>
    [...document.images].some((image) => image.src.includes('/thumbnail') && image.complete && image.naturalWidth > 0),
  )
  await look(page, config, 'list')
  await row(page, 'The lake').first().getByRole('checkbox').check()
  await look(page, config, 'selected')
  await row(page, 'The lake').first().getByRole('button', { name: say.actionsFor('The lake') }).click()
  await look(page, config, 'menu')
  await page.keyboard.press('Escape')
  await row(page, 'The lake').first().getByRole('button', { name: say.edit('The lake') }).click()
  await page.getByRole('dialog').waitFor()
  await look(page, config, 'edit')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  if (isPhone(config.size)) await page.getByRole('button', { name: say.filters }).click()
  await page.getByLabel(say.state, { exact: true }).selectOption(say.revoked)
  await until('the others going', async () => (await row(page, 'The lake').count()) === 0)
  await row(page, name).getByText(say.revoked, { exact: true }).waitFor()
  await look(page, config, 'filtered')

  const none = { items: [], pagination: { total: 0, page: 1, limit: 20, pages: 0 } }
  await page.route('**/api/shares/?*', (route) => route.fulfill({ json: { success: true, data: none, timestamp: 1 } }))
  await page.goto('/app/shares')
  await page.getByRole('heading', { name: say.empty }).waitFor()
  await page.getByRole('link', { name: say.toFiles }).waitFor()
  await look(page, config, 'empty')
}

const deskAndPhone = () => [
  { language: 'en-US', theme: 'light', size: 'desk' },
  { language: 'zh-CN', theme: 'dark', size: 'phone' },
]

export const scenarios = [
  { name: 'shares a folder with a password and an expiry', forms: deskAndPhone, run: sharesFolder },
  { name: 'one click shares and copies', forms: once, run: oneClick },
  { name: 'manages shares', forms: bothLanguages, run: manages },
  { name: 'tells what is wrong with a share', forms: bothLanguages, run: refuses },
  { name: 'shares by the keyboard alone', forms: once, run: byKeyboard },
  { name: 'the shares look right', forms: everyWith('narrow', 'wide'), run: looks },
]
