// The settings of an account: profile, look, password, email address and sessions.
import { createFolder } from './files.mjs'
import { bothLanguages, everyWith, few, once } from './forms.mjs'
import { becomes, equal, inspect, open, until } from './harness.mjs'
import { labels, signIn, signInAt } from './labels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'
import { look } from './stranger.mjs'

export const words = {
  'en-US': {
    settings: 'Settings',
    profile: 'Profile',
    look: 'Appearance',
    security: 'Security',
    storage: 'Storage',
    byFolder: 'Your files by folder',
    folders: 'Folders',
    filesHere: 'Files in this folder',
    openFolder: 'Open this folder',
    name: 'Display name',
    tooLong: /^A display name has at most 100 characters/,
    choosePicture: 'Choose picture',
    removePicture: 'Remove picture',
    removed: 'The picture is removed.',
    noPicture: /^The server can't read this picture/,
    largePicture: 'The picture is too large. The limit is 5 MB.',
    avatarUrl: 'Address of your picture',
    badAvatarUrl: /^Enter an http or https address/,
    chooseFolder: 'Choose folder',
    folderTitle: 'Which folder do you want to see first?',
    findFolder: 'Find a folder',
    useFolder: 'Use this folder',
    saved: 'Saved',
    kind: 'Who may open links to pictures',
    temporary: 'Anyone, until …',
    lifetime: 'Valid for',
    week: '7 days',
    format: 'Format',
    dark: 'Dark',
    light: 'Light',
    violet: 'Violet',
    custom: 'Custom color',
    badColor: /^Enter # and six/,
    darker: 'The light theme shows this color darker.',
    blur: 'Translucent panels',
    oldPassword: 'Current password',
    newPassword: 'New password',
    wrongPassword: 'The current password is wrong.',
    short: 'Use at least 8 characters.',
    long: 'Use 128 characters at most.',
    changePassword: 'Change password and sign out',
    changed: 'Your password is changed',
    signIn: 'Sign in',
    newEmail: 'New email address',
    sendCode: 'Send code',
    noMail: /^This site doesn't send email/,
    badEmail: 'Enter a valid email address.',
    taken: 'This address is not valid, or belongs to another account.',
    mailFailed: /^The email couldn't be sent/,
    code: 'Code',
    fourMore: 'Wrong code. You have 4 tries left.',
    oneMore: 'Wrong code. You have 1 try left.',
    spent: /5 wrong tries/,
    left: /^Valid for another [45]:\d\d$/,
    expired: 'The code has expired. Send another one.',
    confirm: 'Confirm',
    again: 'Send again',
    another: 'Use another address',
    tooMany: /^Too many attempts\. Try again in \d+ min\.$/,
    verified: 'Verified',
    thisDevice: 'This device',
    device: 'Chrome on Linux',
    end: 'End: Chrome on Linux',
    endTitle: 'End Chrome on Linux?',
    endButton: 'End',
    ended: 'Chrome on Linux is signed out.',
    endOthers: 'End all others',
    endOthersTitle: 'End all other sessions?',
    othersEnded: 'All other devices are signed out.',
    signOut: 'Sign out everywhere',
    signOutTitle: 'Sign out everywhere?',
  },
  'zh-CN': {
    settings: '设置',
    profile: '个人资料',
    look: '外观',
    security: '账户安全',
    storage: '存储空间',
    byFolder: '各文件夹中你的文件',
    folders: '文件夹',
    filesHere: '此文件夹中的文件',
    openFolder: '打开此文件夹',
    name: '显示名称',
    tooLong: /^显示名称最多 100 个字符/,
    choosePicture: '选择图片',
    removePicture: '移除头像',
    removed: '头像已移除。',
    noPicture: /^服务器无法读取此图片/,
    largePicture: '图片太大，最大 5 MB。',
    avatarUrl: '头像地址',
    badAvatarUrl: /^请输入 http 或 https 网址/,
    chooseFolder: '选择文件夹',
    folderTitle: '登录后显示哪个文件夹？',
    findFolder: '查找文件夹',
    useFolder: '使用此文件夹',
    saved: '已保存',
    kind: '谁可以打开图片链接',
    temporary: '限时开放',
    lifetime: '有效期',
    week: '7 天',
    format: '格式',
    dark: '深色',
    light: '浅色',
    violet: '紫色',
    custom: '自定义颜色',
    badColor: /^请输入 # 加六位/,
    darker: '此颜色在浅色主题中会调深。',
    blur: '半透明效果',
    oldPassword: '当前密码',
    newPassword: '新密码',
    wrongPassword: '当前密码不正确。',
    short: '至少 8 个字符。',
    long: '最多 128 个字符。',
    changePassword: '更改密码并退出登录',
    changed: '密码已更改',
    signIn: '登录',
    newEmail: '新邮箱地址',
    sendCode: '发送验证码',
    noMail: /^此站点没有设置邮件服务/,
    badEmail: '请输入有效的邮箱地址。',
    taken: '地址无效，或已被其他账户使用。',
    mailFailed: /^邮件发送失败/,
    code: '验证码',
    fourMore: '验证码不正确，还可以尝试 4 次。',
    oneMore: '验证码不正确，还可以尝试 1 次。',
    spent: /验证码输入错误 5 次/,
    left: /^有效时间还剩 [45]:\d\d$/,
    expired: '验证码已过期，请重新发送。',
    confirm: '确认',
    again: '重新发送',
    another: '使用其他地址',
    tooMany: /^操作过于频繁，请在 ?\d+ ?分钟后重试。$/,
    verified: '已验证',
    thisDevice: '此设备',
    device: 'Linux 上的 Chrome',
    end: '结束：Linux 上的 Chrome',
    endTitle: '结束“Linux 上的 Chrome”的登录？',
    endButton: '结束',
    ended: '“Linux 上的 Chrome”已退出登录。',
    endOthers: '结束所有其他登录',
    endOthersTitle: '结束所有其他登录？',
    othersEnded: '所有其他设备都已退出登录。',
    signOut: '在所有设备上退出登录',
    signOutTitle: '在所有设备上退出登录？',
  },
}

// begin creates an account of the scenario's language and signs in. It returns the texts and the
// account for signIn.
async function begin(page, config) {
  const username = await config.ask('createAccount', { locale: config.language })
  const account = { ...config, username }
  await signInAt(page, account, '/app/files')
  return { word: words[config.language], account }
}

// second signs in from another browser and returns its page.
export async function second(page, account) {
  const other = await open(page.context().browser(), account)
  await other.goto('/app/login')
  await signIn(other, account)
  await other.waitForURL((url) => url.pathname.startsWith('/app/files'))
  return other
}

// openSection opens a section of the settings.
export async function openSection(page, config, section) {
  const word = words[config.language]
  if (!page.url().includes('/app/settings/')) {
    await page.getByRole('button', { name: labels[config.language].account }).click()
    await page.getByRole('menuitem', { name: word.settings }).click()
  }
  await page.getByRole('navigation', { name: word.settings }).getByRole('link', { name: word[section] }).click()
  await page.waitForURL((url) => url.pathname === `/app/settings/${section === 'look' ? 'appearance' : section}`)
}

// walkSettings opens each section and its dialogs, for the walk of panels.mjs.
export async function walkSettings(page, config, look) {
  const word = words[config.language]
  await openSection(page, config, 'profile')
  await page.getByRole('button', { name: word.chooseFolder }).waitFor()
  await look('profile')
  await page.getByRole('button', { name: word.chooseFolder }).click()
  const picker = page.getByRole('dialog', { name: word.folderTitle })
  await picker.getByRole('treeitem').nth(1).waitFor()
  await look('opening folder')
  await page.keyboard.press('Escape')
  await openSection(page, config, 'look')
  await page.getByRole('switch', { name: word.blur }).waitFor()
  await look('look')
  await openSection(page, config, 'security')
  await page.getByText(word.thisDevice, { exact: true }).waitFor()
  await look('security')
  await page.getByRole('button', { name: word.signOut }).last().click()
  await page.getByRole('dialog', { name: word.signOutTitle }).waitFor()
  await look('sign out everywhere')
  await page.keyboard.press('Escape')
}

async function looks(page, config) {
  const { account } = await begin(page, config)
  const other = await second(page, account)
  const found = []
  await walkSettings(page, config, async (what) => {
    found.push(...[...(await inspect(page)), ...(await cramped(page, config))].map((fault) => `${what}: ${fault}`))
    await config.shot(`settings-${what.replaceAll(' ', '-')}`)
  })
  await other.context().close()
  equal('faults', found, [])
}

// A folder with most of the files leads to the folder in it that has them, and Back leads back.
async function storage(page, config) {
  const { word, account } = await begin(page, config)
  const home = `/home/${account.username}`
  const large = { name: 'large.txt', bytes: btoa('x'.repeat(3000)) }
  await createFolder(page, account, 'Trip', [large], home)
  await createFolder(page, account, 'Films', [large, { ...large, name: 'more.txt' }], `${home}/Trip`)
  await openSection(page, config, 'storage')
  const section = page.getByRole('region', { name: word.byFolder })
  const row = (name) => section.getByRole('listitem').filter({ hasText: name })
  await row('Trip').getByText('8.8 KB').waitFor()
  await row('Trip').getByText(/3 (files|个文件)/).waitFor()
  await look(page, config, 'settings-storage')
  await row('Trip').getByRole('link', { name: 'Trip' }).click()
  await row(word.filesHere).getByText(/1 (file|个文件)$/).waitFor()
  await row('Films').getByText(/2 (files|个文件)/).waitFor()
  await page.goBack()
  await row('Trip').waitFor()
  await page.getByRole('navigation', { name: word.folders }).getByText(account.username, { exact: true }).waitFor()
  await row('Trip').getByRole('link', { name: 'Trip' }).click()
  await section.getByRole('link', { name: word.openFolder }).click()
  await page.getByRole('gridcell', { name: /^Films/ }).waitFor()
}

// settle waits for the message that a setting was stored.
const settle = (page, word) => page.getByText(word.saved, { exact: true }).first().waitFor()

// root returns the look and the language of a page.
const root = (page) =>
  page.evaluate(() => {
    const { dataset, lang } = document.documentElement
    return { theme: dataset.theme, blur: dataset.blur, lang }
  })

// The chosen values stay after a reload, and another browser has them too.
async function keeps(page, config) {
  const say = labels[config.language]
  const { word, account } = await begin(page, config)
  await openSection(page, config, 'profile')

  const name = page.getByLabel(word.name, { exact: true })
  await name.fill('ä'.repeat(101))
  await name.press('Enter')
  await page.getByText(word.tooLong).waitFor()
  await becomes('the refused name', () => name.inputValue(), 'ä'.repeat(101))
  equal('faults of the refused name', await inspect(page), [])
  // one hundred characters, each of two UTF-16 units
  await name.fill('🐱'.repeat(100))
  await name.press('Enter')
  await settle(page, word)
  await becomes('whether the longest name is refused', () => page.getByText(word.tooLong).count(), 0)
  await name.fill('Mia Li')
  await name.press('Tab')
  await page.getByRole('button', { name: `${say.account}: Mia Li` }).waitFor()

  const avatar = page.getByLabel(word.avatarUrl, { exact: true })
  await avatar.fill('ftp://example.org/a.png')
  await avatar.press('Enter')
  await page.getByText(word.badAvatarUrl).waitFor()
  await becomes('the refused address', () => avatar.inputValue(), 'ftp://example.org/a.png')
  await avatar.fill('')
  await avatar.press('Enter')
  await page.getByText(word.badAvatarUrl).waitFor({ state: 'detached' })

  await page.getByRole('button', { name: word.chooseFolder }).click()
  const picker = page.getByRole('dialog', { name: word.folderTitle })
  await picker.getByLabel(word.findFolder).fill('/public')
  await picker.getByRole('treeitem', { name: say.publicFolder }).click()
  await picker.getByRole('button', { name: word.useFolder }).click()
  await picker.waitFor({ state: 'detached' })
  await page.getByText('/public', { exact: true }).waitFor()

  await page.getByLabel(word.kind).selectOption({ label: word.temporary })
  await page.getByLabel(word.lifetime).selectOption({ label: word.week })
  await page.getByLabel(word.format, { exact: true }).selectOption({ label: 'Markdown' })

  await openSection(page, config, 'look')
  const chosen = config.theme === 'dark' ? 'light' : 'dark'
  const stored = () =>
    page.waitForResponse((answer) => answer.request().method() === 'PUT' && answer.url().endsWith('/me/settings'))
  let done = stored()
  await page.getByRole('radio', { name: word[chosen], exact: true }).check({ force: true })
  await done
  equal('the theme', (await root(page)).theme, chosen)
  done = stored()
  await page.getByRole('radio', { name: word.violet }).check({ force: true })
  await done
  const hex = page.getByLabel(word.custom)
  await becomes('the colour of the swatch', () => hex.inputValue(), '#6e56cf')
  await hex.fill('#12345')
  await hex.press('Tab')
  await page.getByText(word.badColor).waitFor()
  await hex.fill('FFEE00')
  done = stored()
  await hex.press('Tab')
  await done
  await page.getByText(word.darker).waitFor()
  page.theme = chosen
  equal('faults with a pale accent', await inspect(page), [])
  done = stored()
  await page.getByRole('switch', { name: word.blur }).click()
  await done
  equal('the blur', (await root(page)).blur, 'off')

  const check = async (shown) => {
    await openSection(shown, config, 'look')
    await becomes('the chosen accent', () => shown.getByLabel(word.custom).inputValue(), '#FFEE00')
    equal('the chosen look', await root(shown), { theme: chosen, blur: 'off', lang: config.language })
    await openSection(shown, config, 'profile')
    await becomes('the name', () => shown.getByLabel(word.name, { exact: true }).inputValue(), 'Mia Li')
    await shown.getByText('/public', { exact: true }).waitFor()
  }
  await page.reload()
  await check(page)
  await becomes('the format of links', () => page.getByLabel(word.format, { exact: true }).inputValue(), 'markdown')
  await becomes('the lifetime of links', () => page.getByLabel(word.lifetime).inputValue(), '604800')

  const other = await second(page, account)
  equal('the folder that opens', new URL(other.url()).pathname, '/app/files/public')
  await other.getByRole('button', { name: `${say.account}: Mia Li` }).waitFor()
  await check(other)

  const [otherLanguage] = Object.keys(words).filter((language) => language !== config.language)
  await other.getByRole('radio', { name: otherLanguage === 'zh-CN' ? '简体中文' : 'English' }).check({ force: true })
  await other.getByRole('heading', { level: 1, name: words[otherLanguage].settings }).waitFor()
  equal('faults of the other browser', other.faults(), [])
  await other.context().close()
}

// An uploaded picture is shown beside the name, also in another browser, until it is removed.
async function avatar(page, config) {
  const say = labels[config.language]
  const { word, account } = await begin(page, config)
  await openSection(page, config, 'profile')
  const choose = async (name, buffer) => {
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: word.choosePicture }).click()
    await (await chooser).setFiles({ name, mimeType: 'image/png', buffer })
  }
  const width = (shown) =>
    shown
      .getByRole('button', { name: say.account })
      .locator('img')
      .evaluate((image) => image.decode().then(() => image.naturalWidth))
  await choose('large.png', Buffer.concat([png(8, 8, 0.5), Buffer.alloc(5 * 1024 * 1024)]))
  await page.getByText(word.largePicture).waitFor()
  await choose('words.png', Buffer.from('no picture'))
  await page.getByText(word.noPicture).waitFor()
  equal('faults of the refused picture', await inspect(page), [])
  await choose('me.png', png(480, 320, 0.3))
  await page.getByRole('button', { name: word.removePicture }).waitFor()
  equal('the width of the picture', await width(page), 256)
  equal('faults with the picture', await inspect(page), [])
  await config.shot('settings-avatar')
  const other = await second(page, account)
  equal('the width in another browser', await width(other), 256)
  await other.context().close()
  await page.getByRole('button', { name: word.removePicture }).click()
  await page.getByText(word.removed).waitFor()
  await becomes('pictures that are left', () => page.getByRole('main').locator('img').count(), 0)
  await becomes(
    'the focus',
    () => page.getByRole('button', { name: word.choosePicture }).evaluate((button) => button === document.activeElement),
    true,
  )
  // a picture by its address on this site
  const path = page.getByLabel(word.avatarUrl, { exact: true })
  await path.fill('/app/none.png')
  await path.press('Enter')
  await settle(page, word)
  await until('the icon in place of a missing picture', async () => (await page.locator('img[src="/app/none.png"]').count()) === 0)
}

// The address changes with the code of the mail. Wrong codes, a taken address, and failures have
// their sentences.
async function email(page, config) {
  const { word, account } = await begin(page, config)
  await config.ask('stopMail')
  await openSection(page, config, 'security')
  await page.getByText(word.noMail).waitFor()
  await config.ask('startMail')
  await page.clock.install()
  await page.reload()
  const address = page.getByLabel(word.newEmail)
  const send = page.getByRole('button', { name: word.sendCode })
  const enterAddress = async (text) => {
    await address.fill(text)
    await send.click()
  }
  await enterAddress('nobody')
  await page.getByText(word.badEmail).waitFor()
  await enterAddress('ann@example.org') // of another account
  await page.getByText(word.taken).waitFor()
  await becomes('the refused address', () => address.inputValue(), 'ann@example.org')
  await becomes('the focus', () => address.evaluate((field) => field === document.activeElement), true)
  equal('faults of the refused address', await inspect(page), [])

  await config.ask('cutMail', true)
  await enterAddress(`new-${account.username}@example.org`)
  await page.getByText(word.mailFailed).waitFor()
  await config.ask('cutMail', false)
  equal(
    'faults other than the failed mail',
    page.faults().filter((fault) => !/^500 .*\/send-otp$/.test(fault)),
    [],
  )

  await send.click()
  const code = page.getByLabel(word.code, { exact: true })
  await code.waitFor()
  await becomes('the focus', () => code.evaluate((field) => field === document.activeElement), true)
  await page.getByText(word.left).waitFor()
  await config.shot('settings-code')
  equal('faults of the code', await inspect(page), [])
  const mailed = await config.ask('mailedCode', `new-${account.username}@example.org`)
  const wrong = String((Number(mailed) + 1) % 1_000_000).padStart(6, '0')
  const confirm = page.getByRole('button', { name: word.confirm, exact: true })
  await code.fill(wrong)
  await confirm.click()
  await page.getByText(word.fourMore).waitFor()
  for (const outcome of [/3/, /2/, word.oneMore, word.spent]) {
    const answer = page.waitForResponse('**/verify-otp')
    await confirm.click()
    await answer
    await page.getByRole('alert').filter({ hasText: outcome }).waitFor()
  }
  await page.getByRole('button', { name: word.again }).click()
  await page.getByText(word.left).waitFor()
  const next = await config.ask('mailedCode', `new-${account.username}@example.org`)
  // the code stays valid while the user is elsewhere
  await openSection(page, config, 'profile')
  await openSection(page, config, 'security')
  await code.fill(next)
  await confirm.click()
  await page.getByText(`new-${account.username}@example.org`, { exact: true }).waitFor()
  await page.getByText(word.verified, { exact: true }).waitFor()

  // three mails in 15 minutes: the third was the last
  await enterAddress(`late-${account.username}@example.org`)
  await page.getByText(word.tooMany).waitFor()
  await config.ask('stopMail')
}

// A code expires on the screen when it does on the server.
async function expires(page, config) {
  const { word, account } = await begin(page, config)
  await config.ask('startMail')
  await page.clock.install()
  await openSection(page, config, 'security')
  await page.getByLabel(word.newEmail).fill(`new-${account.username}@example.org`)
  await page.getByRole('button', { name: word.sendCode }).click()
  await page.getByText(word.left).waitFor()
  await page.clock.fastForward('05:00')
  await page.getByText(word.expired).waitFor()
  await page.getByRole('button', { name: word.another }).click()
  await becomes('the address', () => page.getByLabel(word.newEmail).inputValue(), `new-${account.username}@example.org`)
  await config.ask('stopMail')
}

// isLost waits for the dialog of a lost session after the next request of a page.
async function isLost(page, config) {
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.getByRole('dialog', { name: labels[config.language].lost }).waitFor()
}

// A stolen session: its owner ends it from another browser, by the keyboard.
async function stolen(page, config) {
  const { word, account } = await begin(page, config)
  const thief = await second(page, account)
  await openSection(page, config, 'security')
  const list = page.getByRole('listitem').filter({ hasText: word.device })
  equal('sessions', await list.count().then(async (n) => (n < 2 ? await list.nth(1).waitFor().then(() => 2) : n)), 2)
  await becomes('sessions of this device', () => list.filter({ hasText: word.thisDevice }).count(), 1)
  const end = page.getByRole('button', { name: word.end })
  await end.focus()
  await page.keyboard.press('Enter')
  const question = page.getByRole('dialog', { name: word.endTitle })
  await question.waitFor()
  equal('the focus', await page.evaluate(() => document.activeElement.textContent), labels[config.language].cancel)
  equal('faults of the question', await inspect(page), [])
  await page.keyboard.press('Escape')
  await question.waitFor({ state: 'detached' })
  await becomes('the focus after the question', () => end.evaluate((button) => button === document.activeElement), true)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText(word.ended).waitFor()
  await until('one session', async () => (await list.count()) === 1)
  await isLost(thief, config)

  // all others at once
  await signIn(thief, account)
  await thief.getByRole('dialog', { name: labels[config.language].lost }).waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('button', { name: word.endOthers }).click()
  await page.getByRole('dialog', { name: word.endOthersTitle }).getByRole('button', { name: word.endOthers }).click()
  await page.getByText(word.othersEnded).waitFor()
  await isLost(thief, config)
  equal('faults of the other browser', thief.faults(), [])
  await thief.context().close()
  await page.getByRole('button', { name: word.signOut }).last().click()
  await page.getByRole('dialog', { name: word.signOutTitle }).getByRole('button', { name: word.signOut }).click()
  await page.getByRole('heading', { level: 1, name: labels[config.language].signIn }).waitFor()
}

// A new password signs both browsers out.
async function password(page, config) {
  const { word, account } = await begin(page, config)
  const other = await second(page, account)
  await openSection(page, config, 'security')
  const old = page.getByLabel(word.oldPassword, { exact: true })
  const fresh = page.getByLabel(word.newPassword, { exact: true })
  const change = async (from, to, sentence) => {
    await old.fill(from)
    await fresh.fill(to)
    await page.getByRole('button', { name: word.changePassword }).click()
    await page.getByText(sentence).waitFor()
  }
  await change(config.password, 'seven-7', word.short)
  await change(config.password, 'é'.repeat(129), word.long)
  await change('not this one', 'eight-88', word.wrongPassword)
  await becomes('the new password after the refusal', () => fresh.inputValue(), 'eight-88')
  equal('faults of the refusal', await inspect(page), [])
  await old.fill(config.password)
  await page.getByRole('button', { name: word.changePassword }).click()
  const done = page.getByRole('dialog', { name: word.changed })
  await done.waitFor()
  equal('faults of the notice', await inspect(page), [])
  await config.shot('settings-password-changed')
  await done.getByRole('button', { name: word.signIn }).click()
  await page.getByRole('heading', { level: 1, name: labels[config.language].signIn }).waitFor()
  await signIn(page, { ...account, password: 'eight-88' })
  await page.waitForURL((url) => url.pathname === '/app/settings/security')
  await isLost(other, config)
  equal('faults of the other browser', other.faults(), [])
  await other.context().close()
}

// A visitor who may browse has no settings.
async function visitor(page, config) {
  const say = labels[config.language]
  await page.goto('/app/settings/profile')
  await page.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
  await signIn(page, config)
  await page.waitForURL((url) => url.pathname === '/app/settings/profile')
}

export const scenarios = [
  { name: 'the settings look right', forms: everyWith('narrow', 'wide'), run: looks },
  { name: 'says which folder takes the space', forms: few, run: storage },
  { name: 'settings are kept', forms: bothLanguages, run: keeps },
  { name: 'shows an uploaded picture', forms: bothLanguages, run: avatar },
  { name: 'changes the address by a code', forms: bothLanguages, run: email },
  { name: 'a code expires on the screen', forms: once, run: expires },
  { name: 'ends a stolen session', forms: bothLanguages, run: stolen },
  { name: 'a new password signs out everywhere', forms: bothLanguages, run: password },
  { name: 'settings need an account', forms: once, run: visitor },
]
