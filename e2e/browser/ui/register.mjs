// Accounts of one's own: registration, the verification of the address, a forgotten password. The
// scenarios change the settings of the site, and change them back.
import { refuses, standStill } from './errorpages.mjs'
import { createFolder } from './files.mjs'
import { bothLanguages, everyWith, once, small } from './forms.mjs'
import { becomes, equal, inspect, open, until } from './harness.mjs'
import { Keys } from './keyboard.mjs'
import { labels, signIn } from './labels.mjs'
import { cramped } from './phone.mjs'

const texts = {
  'en-US': {
    register: 'Create an account',
    create: 'Create account',
    invite: 'Invite code',
    badInvite: 'That code is wrong, expired or used up.',
    haveInvite: 'I have an invite code',
    closed: 'Registration is closed',
    nameHelp: '3 to 20 letters, digits or underscores',
    nameSigns: 'Use only the letters A to Z, digits and underscores.',
    nameTaken: 'That user name is taken.',
    least: (n) => `Use at least ${n} characters.`,
    most: (n) => `Use ${n} characters at most.`,
    badEmail: 'Enter a valid email address.',
    emailTaken: 'Another account uses that address.',
    mailed: 'Check your email',
    again: 'Send the email again',
    resent: 'If that address needs confirming, an email is on its way.',
    unverified: 'Confirm your email address first.',
    verified: 'Your email address is verified',
    badLink: 'This link does not work',
    signedIn: (name) => `You're signed in as ${name}`,
    forgot: 'Forgot your password?',
    send: 'Send link',
    sent: /^If an account uses that address, an email is on its way\./,
    noMail: /^This site doesn't send email\./,
    newPassword: 'New password',
    reset: 'Set a new password',
    set: 'Set password',
    isSet: 'Your new password is set, and all devices were signed out. Sign in with it.',
    ended: 'This link no longer works',
    missing: 'The link is missing',
    newLink: 'Send me a new link',
    firstSteps: 'Start here',
    makeKey: 'Create a key',
  },
  'zh-CN': {
    register: '注册账户',
    create: '注册',
    invite: '邀请码',
    badInvite: '邀请码无效、已过期或已用完。',
    haveInvite: '我有邀请码',
    closed: '暂未开放注册',
    mailed: '请查收邮件',
    again: '重新发送验证邮件',
    resent: '如果该地址需要验证，邮件已发送。',
    unverified: '请先验证邮箱地址。',
    verified: '邮箱地址已验证',
    badLink: '此链接无效',
    forgot: '忘记密码？',
    forgotTitle: '忘记密码',
    send: '发送链接',
    sent: /^如果有账户使用此邮箱，您会收到一封邮件。/,
    noMail: /^本站未启用邮件。/,
    newPassword: '新密码',
    reset: '设置新密码',
    set: '设置新密码',
    isSet: '新密码已设置，所有设备都已退出登录。请使用新密码登录。',
    ended: '此链接已失效',
    missing: '缺少链接',
    newLink: '重新获取链接',
    firstSteps: '从这里开始',
    makeKey: '创建密钥',
    least: (n) => `至少 ${n} 个字符。`,
  },
}
const emails = { 'en-US': 'Email address', 'zh-CN': '邮箱地址' }
const wordsOf = ({ language }) => ({ ...labels[language], ...texts[language], email: emails[language] })

const usual = {
  allowRegistration: false,
  requireInviteCode: false,
  requireEmailVerification: false,
  emailEnabled: false,
}

// on runs a scenario while the site has other settings.
const on = (settings, run) =>
  async function (page, config) {
    if (settings.emailEnabled) await config.ask('startMail')
    await config.ask('siteSettings', settings)
    try {
      await run(page, config, wordsOf(config))
    } finally {
      await config.ask('siteSettings', usual)
    }
  }

let people = 0
// newcomer returns a person without an account, another one each time.
function newcomer() {
  const name = `new_${Date.now().toString(36)}_${people++}`
  return { username: name, email: `${name}@example.org`, password: `password of ${name}` }
}

const title = (page, name) => page.getByRole('heading', { level: 1, name, exact: true })
const labelled = (page, name) => page.getByLabel(name, { exact: true })
const press = (page, name) => page.getByRole('button', { name, exact: true }).click()
const focusOf = (page) => page.evaluate(() => document.activeElement.labels?.[0]?.textContent)

async function fill(page, say, { username, email, password }) {
  await labelled(page, say.username).fill(username)
  await labelled(page, say.email).fill(email)
  await labelled(page, say.password).fill(password)
}

// registerByAPI registers a person as another program does.
async function registerByAPI(page, person) {
  const status = await page.evaluate(
    async (body) =>
      (
        await fetch('/api/auth/register', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).status,
    person,
  )
  equal('the status of a registration', status, 201)
}

const isHome = (person) => (url) => url.pathname === `/app/files/home/${person.username}`

// From the link of an invite, by the link of the mail, to the own folder.
async function joins(page, config, say) {
  const person = newcomer()
  const code = await config.ask('invite', { maxUses: 1 })
  await page.goto(`/app/register?invite=${code}`)
  await title(page, say.register).waitFor()
  await becomes('the code', () => labelled(page, say.invite).inputValue(), code)
  await fill(page, say, person)
  await config.shot('register-invited')
  await press(page, say.create)
  await title(page, say.mailed).waitFor()
  await page.getByText(person.email).waitFor()
  equal('faults of the question for the mail', await inspect(page), [])
  await config.shot('register-mailed')
  const first = await config.ask('mailedLink', person.email)

  await press(page, say.again)
  await page.getByText(say.resent).waitFor()
  const second = await config.ask('mailedLink', person.email)
  equal('whether the second link is another', first !== second, true)

  await page.goto('/app/login')
  await signIn(page, { ...config, ...person })
  await page.getByText(say.unverified).waitFor()

  equal('the status of the link', (await page.goto(second)).status(), 200)
  await title(page, say.verified).waitFor()
  equal('faults of the verified address', await inspect(page, false), [])
  equal('what is cramped', await cramped(page, config), [])
  await config.shot('verified')
  await page.getByRole('main').getByRole('link').first().click()
  await signIn(page, { ...config, ...person })
  await page.waitForURL(isHome(person))

  // the invite is used up; the form keeps its values
  await page.context().clearCookies()
  const late = newcomer()
  await page.goto(`/app/register?invite=${code}`)
  await fill(page, say, late)
  await press(page, say.create)
  await page.getByText(say.badInvite).waitFor()
  await becomes('the focus', () => focusOf(page), say.invite)
  await becomes('the name', () => labelled(page, say.username).inputValue(), late.username)
  await becomes('the password', () => labelled(page, say.password).inputValue(), late.password)
  equal('faults of the refusal', await inspect(page), [])
}

// Links that do not verify: the page says what to do, in the reader's language.
async function doesNotVerify(page, config) {
  const say = wordsOf(config)
  const answer = await page.goto('/api/auth/verify?token=none')
  equal('the status', answer.status(), 400)
  await title(page, say.badLink).waitFor()
  equal('the language', await page.evaluate(() => document.documentElement.lang.slice(0, 2)), config.language.slice(0, 2))
  await becomes('scripts of the page', () => page.locator('script').count(), 0)
  equal('faults of the page', await inspect(page, false), [])
  equal('what is cramped', await cramped(page, config), [])
  await config.shot('not-verified')
  await page.getByRole('link', { name: say.signIn }).first().click()
  await title(page, say.signIn).waitFor()
}

// Where no address has to be verified, the new account is signed in.
async function enters(page, config, say) {
  const person = newcomer()
  await page.goto('/app/login?next=%2Fapp%2Fkeys')
  await page.getByRole('link', { name: say.register }).click()
  await title(page, say.register).waitFor()
  await becomes('the focus', () => focusOf(page), say.username)

  await press(page, say.create)
  await becomes('the focus after an empty form', () => focusOf(page), say.username)
  await fill(page, say, { ...person, username: config.username.toUpperCase() })
  await press(page, say.create)
  await page.getByText(say.nameTaken).waitFor()
  await becomes('the focus', () => focusOf(page), say.username)
  await becomes('the password', () => labelled(page, say.password).inputValue(), person.password)
  equal('faults of a taken name', await inspect(page), [])
  await config.shot('register-taken')

  await fill(page, say, { ...person, email: `${config.username}@example.org` })
  await becomes('whether the name is still refused', () => page.getByText(say.nameTaken).count(), 0)
  await press(page, say.create)
  await page.getByText(say.emailTaken).waitFor()
  for (const email of ['ann', 'a b@example.org', 'Ann <ann@example.org>']) {
    await labelled(page, say.email).fill(email)
    await press(page, say.create)
    await page.getByText(say.badEmail).waitFor()
    await becomes('the focus', () => focusOf(page), say.email)
  }
  await labelled(page, say.email).fill(person.email)
  await press(page, say.create)
  await page.waitForURL((url) => url.pathname === '/app/keys')
  await page.goto('/')
  await page.waitForURL(isHome(person))

  // a signed-in account is told so
  await page.goto('/app/register')
  await title(page, say.signedIn(person.username)).waitFor()
  equal('faults', await inspect(page), [])
  await press(page, say.signOut)
  await title(page, say.signIn).waitFor()
}

// The rules for name and password, on both sides of each limit, while the user types.
async function keepsTheRules(page, config, say) {
  await page.goto('/app/register')
  const refusals = { name: page.getByText(say.nameSigns), help: page.getByText(say.nameHelp) }
  const rule = async (label, value, refusal) => {
    const field = labelled(page, label)
    await field.fill(value)
    await labelled(page, say.email).focus() // the value is complete
    const frame = page.locator('.field').filter({ has: field })
    equal(`the refusal of ${value.length} characters`, (await frame.locator('.error').textContent()).trim(), refusal)
    await becomes(
      `whether ${value.length} are marked`,
      () => field.getAttribute('aria-invalid'),
      String(refusal !== ''),
    )
  }
  await rule(say.username, 'ab', say.least(3))
  await rule(say.username, 'abc', '')
  await rule(say.username, 'a'.repeat(20), '')
  await rule(say.username, 'a'.repeat(21), say.most(20))
  await rule(say.password, '1234567', say.least(8))
  await rule(say.password, '12345678', '')
  await rule(say.password, '😀'.repeat(7), say.least(8)) // characters, not units of UTF-16
  await rule(say.password, '😀'.repeat(128), '')
  await rule(say.password, 'a'.repeat(128), '')
  await rule(say.password, 'a'.repeat(129), say.most(128))

  // too long or a wrong sign is refused at once, too short not before the value is complete
  await page.reload()
  await labelled(page, say.username).pressSequentially('ab')
  await refusals.help.waitFor()
  await page.keyboard.type('-')
  await refusals.name.waitFor()
  await becomes('whether the help is shown beside', () => refusals.help.count(), 0)
  await page.keyboard.press('Backspace')
  await refusals.help.waitFor()

  let sent = 0
  page.on('request', (request) => (sent += request.url().endsWith('/register')))
  await fill(page, say, { ...newcomer(), username: 'ab' })
  await press(page, say.create)
  await page.getByText(say.least(3)).waitFor()
  await becomes('the focus', () => focusOf(page), say.username)
  equal('requests with values that are known to be wrong', sent, 0)
}

async function isClosed(page, config, say) {
  await page.goto('/app/login')
  await page.getByRole('link', { name: /^(Browse public files|浏览公开文件)$/ }).waitFor()
  await becomes('links to register', () => page.getByRole('link', { name: say.register }).count(), 0)
  await becomes('links to a new password', () => page.getByRole('link', { name: say.forgot }).count(), 0)
  await page.goto('/app/register')
  await title(page, say.closed).waitFor()
  equal('faults of the closed registration', await inspect(page), [])
  equal('what is cramped', await cramped(page, config), [])
  await config.shot('register-closed')
  await press(page, say.haveInvite)
  await labelled(page, say.invite).fill('none')
  await fill(page, say, newcomer())
  await press(page, say.create)
  await page.getByText(say.badInvite).waitFor()
  await becomes('the focus', () => focusOf(page), say.invite)
  await page.goto('/app/forgot')
  await page.getByText(say.noMail).waitFor()
  equal('faults without mail', await inspect(page), [])
}

// A forgotten password, from the sign-in to the sign-in with the new one.
async function resets(page, config, say) {
  const person = newcomer()
  const password = `another of ${person.username}`
  const addresses = []
  page.on('request', (request) => addresses.push(request.url()))
  await page.goto('/app/login')
  await registerByAPI(page, person)
  const { base, language, theme, size } = config
  const other = await open(page.context().browser(), { base, language, theme, size })
  await other.goto('/app/login')
  await signIn(other, { ...config, ...person })
  await other.waitForURL(isHome(person))

  await page.getByRole('link', { name: say.forgot }).click()
  await title(page, say.forgotTitle ?? say.forgot).waitFor()
  const asks = async (email) => {
    await labelled(page, say.email).fill(email)
    await press(page, say.send)
    return page.getByText(say.sent).textContent()
  }
  const unknown = await asks('nobody@example.org')
  equal('the answer for an unknown address', unknown, await asks(person.email))
  const link = await config.ask('mailedLink', person.email)
  equal('mails to an unknown address', await config.ask('countMails'), 0)

  const answer = await page.goto(link)
  equal('the policy for referrers', answer.headers()['referrer-policy'], 'no-referrer')
  await title(page, say.reset).waitFor()
  await until('the token leaving the address', () => new URL(page.url()).search === '')
  await becomes('the focus', () => focusOf(page), say.newPassword)
  await labelled(page, say.newPassword).fill('1234567')
  await press(page, say.set)
  await page.getByText(say.least(8)).waitFor()
  await labelled(page, say.newPassword).fill(password)
  await press(page, say.set)
  await page.getByText(say.isSet).waitFor()
  equal('faults of the sign-in afterwards', await inspect(page), [])
  await config.shot('reset-done')
  await signIn(page, { ...config, ...person })
  await page.getByText(say.wrong).waitFor()
  await signIn(page, { ...config, ...person, password })
  await page.waitForURL(isHome(person))
  equal('addresses with the password', addresses.filter((one) => decodeURIComponent(one).includes(password)), [])

  await other.goto('/')
  await title(other, say.signIn).waitFor() // the session before is over
  equal('faults of the other browser', other.faults(), [])
  await other.context().close()

  // the link works once; there is a way to another
  const refused = async (address) => {
    await page.goto(address)
    await labelled(page, say.newPassword).fill(password)
    await press(page, say.set)
    await title(page, say.ended).waitFor()
    equal('faults of a link that has ended', await inspect(page), [])
    await page.getByRole('link', { name: say.newLink }).click()
    await title(page, say.forgotTitle ?? say.forgot).waitFor()
  }
  await refused(link)
  await config.shot('forgot')
  await asks(person.email)
  const late = await config.ask('mailedLink', person.email)
  await config.ask('expireMailed')
  await refused(late)
  await page.goto('/app/reset')
  await title(page, say.missing).waitFor()
  equal('faults without a link', await inspect(page), [])
  equal('the focus', await page.evaluate(() => document.activeElement.id), 'content')
}

// All forms show the limit of attempts as the sign-in does, and keep what was entered.
async function waits(page, config, say) {
  const person = newcomer()
  const limited = async (address, button) => {
    await refuses(page, address)
    await standStill(page)
    await press(page, button)
    await page.getByText(say.tryLater(37)).waitFor()
    await page.clock.runFor(1000)
    await page.getByText(say.tryLater(36)).waitFor()
    await page.clock.resume()
    await becomes(
      'whether the button waits',
      () => page.getByRole('button', { name: button }).getAttribute('aria-disabled'),
      'true',
    )
    equal('faults of the wait', await inspect(page), [])
  }
  await page.clock.install()
  await page.goto('/app/register')
  await fill(page, say, person)
  await limited('**/api/auth/register', say.create)
  await becomes('the name', () => labelled(page, say.username).inputValue(), person.username)
  await becomes('the password', () => labelled(page, say.password).inputValue(), person.password)
  await page.goto('/app/forgot')
  await labelled(page, say.email).fill(person.email)
  await limited('**/api/auth/forgot-password', say.send)
  await page.goto('/app/reset?token=some')
  await labelled(page, say.newPassword).fill(person.password)
  await limited('**/api/auth/reset-password', say.set)
}

async function looks(page, config, say) {
  for (const [name, address, heading] of [
    ['sign-in-links', '/app/login', say.signIn],
    ['register', '/app/register', say.register],
    ['forgot', '/app/forgot', say.forgotTitle ?? say.forgot],
    ['reset', '/app/reset?token=some', say.reset],
    ['reset-missing', '/app/reset', say.missing],
  ]) {
    await page.goto(address)
    await title(page, heading).waitFor()
    if (name === 'sign-in-links') await page.getByRole('link', { name: say.register }).waitFor()
    equal(`faults of ${name}`, await inspect(page), [])
    equal(`what is cramped on ${name}`, await cramped(page, config), [])
    await config.shot(name)
  }
}

async function byKeyboard(page, config, say) {
  const person = newcomer()
  const keys = new Keys(page, config, '')
  await page.goto('/app/login')
  await page.getByRole('link', { name: say.register }).focus()
  equal('the focus', await keys.press('Enter'), say.username)
  await keys.type(person.username)
  equal('the focus', await keys.press('Tab'), say.email)
  await keys.type(person.email)
  equal('the focus', await keys.press('Tab'), say.password)
  await keys.type('1234567')
  equal('the focus after a refusal', await keys.press('Enter'), say.password)
  await page.getByText(say.least(8)).waitFor()
  await keys.type(person.password)
  await keys.press('Enter')
  await page.waitForURL(isHome(person))
  await until('something having the focus', async () => (await keys.focus()) !== '')
}

// The empty folder of a new account offers the first steps, until it contains something.
async function begins(page, config, say) {
  const person = newcomer()
  await page.goto('/app/login')
  await registerByAPI(page, person)
  await signIn(page, { ...config, ...person })
  await page.waitForURL(isHome(person))
  const steps = page.getByRole('list', { name: say.firstSteps })
  await steps.waitFor()
  equal('faults of the first steps', await inspect(page), [])
  equal('what is cramped', await cramped(page, config), [])
  await config.shot('first-steps')

  await steps.getByRole('link', { name: say.makeKey }).click()
  const form = page.getByRole('dialog', { name: say.newKeyTitle })
  await becomes('the purpose', () => form.getByRole('radio', { name: say.imageClient }).isChecked(), true)
  equal('the query', new URL(page.url()).search, '')
  await page.keyboard.press('Escape')
  await page.goto('/')
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    steps.getByRole('button', { name: say.upload, exact: true }).click(),
  ])
  await chooser.setFiles({ name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('first') })
  await page.getByRole('link', { name: /^first\.txt/ }).waitFor()
  await steps.waitFor({ state: 'detached' })

  // another empty folder has no such steps
  const folder = await createFolder(page, person, 'empty', [])
  await page.goto(`/app/files${folder}`)
  await page.getByText(say.emptyFolder).waitFor()
  await becomes('first steps elsewhere', () => steps.count(), 0)
}

const openSite = { allowRegistration: true, emailEnabled: true }

export const scenarios = [
  {
    name: 'joins by an invite and a mail',
    forms: bothLanguages,
    run: on({ requireInviteCode: true, requireEmailVerification: true, emailEnabled: true }, joins),
  },
  { name: 'says why an address is not verified', forms: everyWith('narrow'), run: doesNotVerify },
  { name: 'registers and is signed in', forms: once, run: on(openSite, enters) },
  { name: 'keeps the rules of a new account', forms: once, run: on(openSite, keepsTheRules) },
  { name: 'says that registration is closed', forms: everyWith(), run: on(usual, isClosed) },
  { name: 'sets a forgotten password', forms: bothLanguages, run: on(openSite, resets) },
  { name: 'waits after many registrations', forms: once, run: on(openSite, waits) },
  {
    name: 'the screens beside the sign-in look right',
    forms: (full) => [...everyWith('narrow')(full), ...small(full)],
    run: on(openSite, looks),
  },
  {
    name: 'begins with the first steps',
    forms: once,
    run: on(openSite, begins),
  },
  { name: 'registers by the keyboard', forms: once, run: on(openSite, byKeyboard) },
]
