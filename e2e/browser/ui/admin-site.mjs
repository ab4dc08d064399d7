// The site settings of the administration: stored at once, refused at the field, and a test mail.
import { bothLanguages } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { enterAs } from './admin.mjs'
import { createFolder } from './files.mjs'
import { api, arrived, done, idOf, look, pictures, share, stranger } from './stranger.mjs'

export const words = {
  'en-US': {
    site: 'Site',
    title: 'Title',
    logo: 'Address of the logo',
    badLogo: 'Enter an http(s) address, or a path of this site that begins with /.',
    accent: 'Accent color',
    custom: 'Custom color',
    teal: 'Teal',
    badColor: 'Enter # and six hexadecimal digits.',
    registration: 'Anyone can register',
    register: 'Create an account',
    requests: 'Requests per minute',
    days: 'Days in the trash',
    badDays: 'Enter a whole number from 0 to 365.',
    loseTrash: 'Everything in the trash, and all former versions of files, are deleted for good within a minute.',
    loseOlder: 'Items in the trash and former versions that are older than that are deleted for good within a minute.',
    all: 'Every deletion goes to the trash',
    stay: 'Deleted files and folders stay here for 7 days. After that they are gone for good.',
    badRequests: 'Enter a whole number from 1 to 10,000.',
    check: 'Bot check at sign-in and registration',
    needsCheck: 'Set LARDER_CAPTCHA_VERIFY_URL and LARDER_CAPTCHA_SECRET on the server first.',
    server: 'Mail server',
    badServer: 'Enter a host name or an IP address, without scheme and port.',
    password: 'Password',
    kept: 'A password is stored. Leave this empty to keep it.',
    unsaved: 'You have unsaved changes',
    save: 'Save',
    saved: 'Saved',
    discard: 'Discard',
    leaveTitle: 'Leave without saving?',
    leave: 'Leave',
    cancel: 'Cancel',
    logs: 'Logs',
    administration: 'Administration',
    to: 'Send to',
    send: 'Send test email',
    sent: (to) => `The mail server accepted the email to ${to}.`,
    notSetUp: 'Save a mail server and a sender address first, and check the address here.',
    failed: /^The email could not be sent\. .+/,
    first: 'The test uses the saved settings. Save your changes first.',
    verify: 'New accounts verify their email address',
    unverified: /^[1-9]\d* accounts? ha(s|ve) no verified address and can't sign in any more until it is verified\.$/,
    guests: 'Visitors see public content without an account',
    shutOut:
      /^Visitors see [1-9]\d* items? .+ [1-9]\d* permanent links? stops? working\. Up to [1-9]\d* accounts? loses? /,
  },
  'zh-CN': {
    site: '站点设置',
    title: '标题',
    logo: '标志的地址',
    accent: '强调色',
    custom: '自定义颜色',
    teal: '青绿色',
    badColor: '请输入 # 加六位十六进制数字。',
    badLogo: '请输入 http(s) 网址，或以 / 开头的本站路径。',
    registration: '开放注册',
    register: '注册账户',
    requests: '每分钟请求数',
    days: '回收站保留天数',
    badDays: '请输入 0 到 365 的整数。',
    loseTrash: '回收站中的所有项目和文件的所有历史版本会在一分钟内永久删除。',
    loseOlder: '超过该天数的回收站项目和历史版本会在一分钟内永久删除。',
    all: '所有删除都进入回收站',
    stay: /7 天/,
    badRequests: '请输入 1 到 10,000 的整数。',
    check: '登录和注册时进行人机验证',
    needsCheck: '请先在服务器上设置 LARDER_CAPTCHA_VERIFY_URL 和 LARDER_CAPTCHA_SECRET。',
    server: '邮件服务器',
    badServer: '请输入主机名或 IP 地址，不含协议和端口。',
    password: '密码',
    kept: '已保存密码。留空则保持不变。',
    unsaved: '有未保存的更改',
    save: '保存',
    saved: '已保存',
    discard: '放弃更改',
    leaveTitle: '不保存就离开？',
    leave: '离开',
    cancel: '取消',
    logs: '日志',
    administration: '管理',
    to: '收件人',
    send: '发送测试邮件',
    sent: (to) => `邮件服务器已接受发往 ${to} 的邮件。`,
    notSetUp: '请先保存有效的邮件服务器和发件人邮箱，并检查收件人地址。',
    failed: /^邮件发送失败，服务器报告的原因：.+/,
    first: '测试使用已保存的设置。请先保存更改。',
    verify: '新账户需要验证邮箱',
    unverified: /^[1-9]\d* 个账户的邮箱尚未验证，验证之前将无法再登录。$/,
    guests: '访客无需登录即可查看公开内容',
    shutOut: /^访客目前可以看到顶层的 [1-9]\d* 项.+[1-9]\d* 个永久链接将失效。.*最多 [1-9]\d* 个账户将失去/,
  },
}

async function changes(page, config) {
  const word = words[config.language]
  const field = (name) => page.getByLabel(name, { exact: true })
  const save = () => page.getByRole('button', { name: word.save, exact: true }).click()
  await enterAs(page, config, word.site)
  await field(word.title).waitFor()
  await look(page, config, 'admin-site')

  // refused by the page, then by the server: the values stay
  await field(word.title).fill('Our pictures')
  await page.getByText(word.unsaved).waitFor()
  await field(word.requests).fill('10001')
  await save()
  await page.getByText(word.badRequests).waitFor()
  await field(word.requests).fill('10000')
  await field(word.logo).fill('javascript:alert(1)')
  await save()
  await page.getByText(word.badLogo).waitFor()
  await becomes('focus', () => field(word.logo).evaluate((input) => input === document.activeElement), true)
  await becomes('the title stays', () => field(word.title).inputValue(), 'Our pictures')
  await look(page, config, 'admin-site-refused')
  await field(word.logo).fill('')
  await field(word.server).fill('smtp://mail.example.org')
  await save()
  await page.getByText(word.badServer).waitFor()
  await field(word.server).fill('')
  await page.getByRole('switch', { name: word.check }).click()
  await save()
  await page.getByText(word.needsCheck).waitFor()
  await page.getByRole('switch', { name: word.check }).click()

  // nothing was stored so far
  const before = await stranger(page, config)
  await before.goto('/app/login')
  await before.getByRole('button').first().waitFor()
  equal('the site in the title', (await before.title()).split(' · ')[1], 'Larder')
  await becomes('registration', () => before.getByRole('link', { name: word.register }).count(), 0)
  await done(before)

  await page.getByRole('switch', { name: word.registration }).click()
  await save()
  await page.getByText(word.saved, { exact: true }).waitFor()
  await until('the page has the title', async () => (await page.title()).endsWith('Our pictures'))
  const after = await stranger(page, config)
  await after.goto('/app/login')
  await after.getByRole('link', { name: word.register }).waitFor()
  equal('the site in the title', (await after.title()).split(' · ')[1], 'Our pictures')
  await done(after)

  // a setting that shuts accounts out says how many before it is saved
  const account = { username: `u${Date.now().toString(36)}`, password: 'a password of some length' }
  const newcomer = await stranger(page, config)
  await newcomer.goto('/app/login')
  const registered = await newcomer.evaluate(
    async (body) => {
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch('/api/auth/register', { method: 'POST', headers, body: JSON.stringify(body) })).ok
    },
    { ...account, email: `${account.username}@example.org` },
  )
  equal('whether the newcomer is registered', registered, true)
  await done(newcomer)
  await page.getByRole('switch', { name: word.verify }).click()
  await page.getByText(word.unverified).waitFor()
  await look(page, config, 'admin-site-loss')
  await page.getByRole('switch', { name: word.verify }).click()
  await page.getByText(word.unverified).waitFor({ state: 'detached' })

  // so does closing the site to visitors
  const files = [{ name: 'linked.txt', bytes: btoa('linked') }]
  const folder = await createFolder(page, config, `Linked ${config.language} ${config.size}`, files)
  const { items } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  await api(page, 'POST', `/api/files/${items[0].id}/link`)
  await page.getByRole('switch', { name: word.guests }).click()
  await page.getByText(word.shutOut).waitFor()
  await page.getByRole('switch', { name: word.guests }).click()
  await page.getByText(word.shutOut).waitFor({ state: 'detached' })
  const { users } = await api(page, 'GET', `/api/admin/users?search=${account.username}`)
  await api(page, 'DELETE', `/api/admin/users/${users[0].id}`)

  await keepsEntries(page, config, word, field)

  // Discard restores the stored values
  await field(word.title).fill('Mistake')
  await page.getByRole('button', { name: word.discard }).click()
  await until('the stored title', async () => (await field(word.title).inputValue()) === 'Our pictures')

  await mails(page, config, word, field)
  await config.ask('siteSettings', {
    siteTitle: 'Larder',
    allowRegistration: false,
    rateLimitRequestsPerMinute: 120,
    emailEnabled: false,
    smtpHost: '',
  })
}

// A page with unsaved entries asks before it is left: by a link, and by Back.
async function keepsEntries(page, config, word, field) {
  const asks = page.getByRole('dialog', { name: word.leaveTitle })
  const link = () =>
    page.getByRole('navigation', { name: word.administration }).getByRole('link', { name: word.logs, exact: true }).click()
  const at = () => new URL(page.url()).pathname
  await link()
  await until('the logs', () => at() === '/app/admin/logs')
  await page.goBack()
  await field(word.title).waitFor()
  await field(word.title).fill('Unsaved')
  for (const leave of [link, () => page.goBack()]) {
    await leave()
    await asks.waitFor()
    await look(page, config, 'admin-site-leave')
    await asks.getByRole('button', { name: word.cancel }).click()
    await asks.waitFor({ state: 'detached' })
    equal('the address', at(), '/app/admin/site')
    equal('the title', await field(word.title).inputValue(), 'Unsaved')
  }
  await page.goBack()
  await asks.getByRole('button', { name: word.leave, exact: true }).click()
  await until('another page', () => at() !== '/app/admin/site')
  equal('dialogs', await asks.count(), 0)
  await page.goForward()
  await field(word.title).waitFor()
  equal('the stored title', await field(word.title).inputValue(), 'Our pictures')
}

async function mails(page, config, word, field) {
  const to = `boss-${config.language}@example.org`.toLowerCase()
  const send = async (address) => {
    await field(word.to).fill(address)
    await page.getByRole('button', { name: word.send }).click()
  }
  await send(to)
  await page.getByText(word.notSetUp).waitFor()
  await config.ask('startMail')
  await page.reload()
  await field(word.title).waitFor()
  await send(to)
  await page.getByText(word.sent(to)).waitFor()
  await page.getByText(word.kept).waitFor()
  await becomes('the stored password is not shown', () => field(word.password).inputValue(), '')
  await field(word.title).fill('Other')
  await page.getByText(word.first).waitFor()
  await page.getByRole('button', { name: word.discard }).click()
  await config.ask('cutMail', true)
  await send(to)
  await page.getByText(word.failed).waitFor()
  await config.shot('admin-site-mail')
  await config.ask('cutMail', false)
  equal(
    'faults other than the failed mail',
    page.faults().filter((fault) => !/^500 .*\/test-email$/.test(fault)),
    [],
  )
}

// The accent of the site is that of the pages without an account: a share, a public folder and the
// sign-in, in a fresh browser and in that of the administrator, whose own pages keep their accent.
async function colours(page, config) {
  const word = words[config.language]
  const accent = (of) => of.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--accent'))
  const save = () => page.getByRole('button', { name: word.save, exact: true }).click()
  await enterAs(page, config, word.site)
  const name = `Colours ${config.language} ${config.size}`
  const folder = await createFolder(page, config, name, pictures.slice(0, 2), '/public')
  const id = await share(page, folder, { password: 'open sesame' })
  await page.goto('/app/admin/site')
  const colors = page.getByRole('group', { name: word.accent, exact: true })
  const hex = colors.getByLabel(word.custom, { exact: true })
  await hex.fill('#0a7f5')
  await save()
  await colors.getByText(word.badColor).waitFor()
  await becomes('whether the focus is on the field', () => hex.evaluate((it) => it === document.activeElement), true)
  await hex.fill('')
  await colors.getByRole('radio', { name: word.teal }).check()
  const teal = '#12a594' // readable on dark backgrounds as it is
  equal('the color', await hex.inputValue(), teal)
  await look(page, config, 'admin-site-color')
  await save()
  await page.getByText(word.saved, { exact: true }).waitFor()
  const own = await accent(page)

  const guest = await stranger(page, config)
  for (const path of [`/share/${id}`, '/app/login', `${encodeURI(folder)}/`]) {
    await guest.goto(path)
    await becomes(`the accent of ${path}`, () => accent(guest), teal)
    equal(`faults of ${path} in the color`, await inspect(guest), [])
    await config.shot(`site-color-${path.split('/')[1]}`, guest)
  }
  await arrived(guest, 2)
  await done(guest)

  await page.goto(`/share/${id}`)
  await becomes('the accent of the share for an account', () => accent(page), teal)
  await page.goto('/app/files')
  await page.getByRole('navigation').first().waitFor()
  await becomes('the accent of the account', () => accent(page), own)
  equal('the color as it is stored', (await api(page, 'GET', '/api/admin/settings')).siteAccent, teal)
  await api(page, 'DELETE', `/api/files/${await idOf(page, folder)}`)
  await config.ask('siteSettings', { siteAccent: '' })
}

// isInSight reports whether nothing covers the middle of an element, in the page.
const isInSight = (element) => {
  const { x, y, width, height } = element.getBoundingClientRect()
  return document.elementFromPoint(x + width / 2, y + height / 2) === element
}

// The settings of the trash: a number of days, and whether every deletion goes there.
async function setsTrash(page, config) {
  const word = words[config.language]
  const days = page.getByLabel(word.days, { exact: true })
  const all = page.getByRole('switch', { name: word.all })
  const save = () => page.getByRole('button', { name: word.save, exact: true }).click()
  await enterAs(page, config, word.site)
  await days.waitFor()
  equal('the days', await days.inputValue(), '30')
  equal('whether every deletion goes to the trash', await all.isChecked(), false)
  await days.fill('366')
  await save()
  await page.getByText(word.badDays).waitFor()
  await becomes('whether the field is in sight', () => days.evaluate(isInSight), true)
  equal('faults of the refused number', await inspect(page), [])
  await config.shot('admin-site-trash')
  await days.fill('0')
  await page.getByText(word.loseTrash).waitFor()
  await days.fill('7')
  await page.getByText(word.loseOlder).waitFor()
  await all.click()
  await save()
  await page.getByText(word.saved, { exact: true }).waitFor()
  await page.reload()
  await days.waitFor()
  equal('the stored days', await days.inputValue(), '7')
  equal('whether every deletion goes there now', await all.isChecked(), true)

  // a request that does not say where it deletes
  const folder = await createFolder(page, config, `Kept ${config.language} ${config.size}`, [])
  const { folder: made } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  equal('the id in the trash', (await api(page, 'DELETE', `/api/files/${made.id}`)).trashId, made.id)
  await page.goto('/app/trash')
  await page.getByText(word.stay).waitFor()
  await page.getByText(made.name).first().waitFor()
  await config.ask('siteSettings', { trashDays: 30, trashAll: false })
}

export const scenarios = [
  {
    name: 'sets the trash of the site',
    forms: (full) => [...bothLanguages(full), { language: 'en-US', theme: 'light', size: 'phone' }],
    run: setsTrash,
  },
  {
    name: 'pages without an account have the color of the site',
    forms: (full) => bothLanguages(full).map((form) => ({ ...form, theme: 'dark' })),
    run: colours,
  },
  {
    name: 'changes the site settings',
    forms: (full) => [...bothLanguages(full), { language: 'en-US', theme: 'dark', size: 'small' }],
    run: changes,
  },
]
