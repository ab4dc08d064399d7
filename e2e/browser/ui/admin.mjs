// The administration: its frame, which administrators alone receive, and the announcements.
import { createFolder } from './files.mjs'
import { bothLanguages, once, windows } from './forms.mjs'
import { becomes, equal, isPhone, until } from './harness.mjs'
import { labels, signIn, signInAt } from './labels.mjs'
import { fromMenu } from './panels.mjs'
import { done, look, notes, share, stranger } from './stranger.mjs'

const words = {
  'en-US': {
    admin: 'Administration',
    announcements: 'Announcements',
    none: 'No announcements',
    explain: 'Explain access',
    create: 'New announcement',
    publish: 'Publish',
    title: 'Title',
    content: 'Text',
    level: 'Level',
    warning: 'Warning',
    important: 'Important',
    day: '1 day',
    exact: 'Pick a time',
    exactLabel: 'Expires at',
    edit: (name) => `Edit “${name}”`,
    remove: (name) => `Delete “${name}”`,
    delete: 'Delete',
    save: 'Save',
    saved: 'Saved',
    deleted: 'Deleted',
    forever: 'Never',
    never: 'Never',
    noTitle: 'Enter a title of 1 to 200 characters.',
    noContent: 'Enter a text of 1 to 5,000 characters.',
    noTime: 'Choose a time at least a minute and at most ten years from now.',
    dismiss: "Don't show again",
  },
  'zh-CN': {
    admin: '管理',
    announcements: '公告',
    none: '还没有公告',
    explain: '权限分析',
    create: '发布公告',
    publish: '发布',
    title: '标题',
    content: '内容',
    level: '级别',
    warning: '提醒',
    important: '重要',
    day: '1 天',
    exact: '指定时间',
    exactLabel: '失效时间',
    edit: (name) => `编辑“${name}”`,
    remove: (name) => `删除“${name}”`,
    delete: '删除',
    save: '保存',
    saved: '已保存',
    deleted: '已删除',
    forever: '永久',
    never: '永不过期',
    noTitle: '请输入 1 到 200 个字符的标题。',
    noContent: '请输入 1 到 5,000 个字符的内容。',
    noTime: '请选择 1 分钟之后、10 年之内的时间。',
    dismiss: '不再显示',
  },
}

// openSection goes from the main navigation, on phones from its menu, to a section of the
// administration.
export async function openSection(page, config, section) {
  const { nav, pages, adminShort } = labels[config.language] // all names of the link begin with it
  const { admin } = words[config.language]
  const main = page.getByRole('navigation', { name: nav })
  if (isPhone(config.size)) {
    await main.getByRole('button', { name: pages, exact: true }).click()
    await page.getByRole('menuitem', { name: adminShort }).click()
  } else await main.getByRole('link', { name: adminShort }).click()
  await page.getByRole('navigation', { name: admin }).getByRole('link', { name: section, exact: true }).click()
  await page.getByRole('heading', { name: section, level: 2, exact: true }).waitFor()
}

// enterAs signs in as an administrator and opens a section.
export async function enterAs(page, config, section) {
  await signInAt(page, config, '/app/files')
  await openSection(page, config, section)
}

// seenBy opens the page of visitors and returns the announcements that it shows.
async function seenBy(page, config) {
  const visitor = await stranger(page, config)
  const listed = visitor.waitForResponse((answer) => answer.url().endsWith('/api/public/announcements'))
  await visitor.goto('/')
  await (await listed).finished()
  const texts = async () =>
    (
      await visitor.getByRole('region', { name: words[config.language].announcements }).locator('p').allTextContents()
    ).map((text) => text.replace(/\s+/g, ' ').trim())
  return { visitor, texts }
}

async function announces(page, config) {
  const word = words[config.language]
  await enterAs(page, config, word.announcements)
  await page.getByText(word.none).waitFor()
  await look(page, config, 'admin-announcements-none')

  await page.getByRole('button', { name: word.create }).click()
  const dialog = page.getByRole('dialog', { name: word.create })
  await dialog.getByRole('button', { name: word.publish }).click()
  await dialog.getByText(word.noTitle).waitFor()
  await dialog.getByText(word.noContent).waitFor()
  await becomes(
    'focus',
    () => dialog.getByLabel(word.title).evaluate((field) => field === document.activeElement),
    true,
  )
  await dialog.getByLabel(word.title).fill('Maintenance')
  await dialog.getByLabel(word.content).fill('Larder is read-only on Sunday.')
  await dialog.getByText('Larder is read-only on Sunday.').waitFor() // the preview
  await dialog.getByLabel(word.level).selectOption({ label: word.warning })
  await dialog.getByRole('radio', { name: word.exact }).check()
  await dialog.getByLabel(word.exactLabel).fill('2020-01-01T10:00')
  await dialog.getByRole('button', { name: word.publish }).click()
  await dialog.getByText(word.noTime).waitFor()
  await look(page, config, 'admin-announcement')
  await dialog.getByRole('radio', { name: word.day, exact: true }).check()
  await dialog.getByRole('button', { name: word.publish }).click()
  await dialog.waitFor({ state: 'hidden' })
  const row = page.getByRole('row').filter({ hasText: 'Maintenance' })
  await row.getByText(word.warning).waitFor()

  const first = await seenBy(page, config)
  await until('visitors see it', async () => (await first.texts()).length === 1)
  equal('announcements', await first.texts(), ['Maintenance Larder is read-only on Sunday.'])
  await first.visitor.getByRole('button', { name: word.dismiss }).waitFor()
  await done(first.visitor)

  await row.getByRole('button', { name: word.edit('Maintenance') }).click()
  const edit = page.getByRole('dialog', { name: word.edit('Maintenance') })
  await becomes('the text stays', () => edit.getByLabel(word.content).inputValue(), 'Larder is read-only on Sunday.')
  await edit.getByLabel(word.level).selectOption({ label: word.important })
  await edit.getByRole('radio', { name: word.forever }).check()
  await edit.getByRole('button', { name: word.save }).click()
  await edit.waitFor({ state: 'hidden' })
  await row.getByText(word.important).waitFor()
  await row.getByText(word.never).waitFor()
  await look(page, config, 'admin-announcements')
  const second = await seenBy(page, config)
  await until('visitors see it', async () => (await second.texts()).length === 1)
  await becomes('important ones stay', () => second.visitor.getByRole('button', { name: word.dismiss }).count(), 0)
  await done(second.visitor)

  await row.getByRole('button', { name: word.remove('Maintenance') }).click()
  const confirm = page.getByRole('dialog', { name: word.remove('Maintenance') })
  await confirm.getByRole('button', { name: word.delete }).click()
  await page.getByText(word.none).waitFor()
  const third = await seenBy(page, config)
  equal('announcements', await third.texts(), [])
  await done(third.visitor)
}

// refused shows that an account without the role receives nothing of the administration.
async function refused(page, config) {
  const { nav, adminShort, forbidden } = labels[config.language]
  const scripts = []
  page.on('request', (request) => scripts.push(new URL(request.url()).pathname))
  const username = await config.ask('createAccount', { locale: config.language })
  await page.goto('/app/login')
  await signIn(page, { ...config, username })
  await page.waitForURL((url) => url.pathname.startsWith('/app/files'))
  await becomes(
    'links',
    () => page.getByRole('navigation', { name: nav }).getByRole('link', { name: adminShort }).count(),
    0,
  )
  await page.goto('/app/admin/announcements')
  await page.getByRole('heading', { name: forbidden }).waitFor()
  await look(page, config, 'admin-refused')
  await page.goto('/app/shares')
  await page.getByRole('heading', { level: 1, name: labels[config.language].shares }).waitFor()
  const own = await createFolder(page, { ...config, username }, 'Own', [notes])
  await page.goto(`/app/files${own}`)
  const say = labels[config.language]
  await fromMenu(page, say, /^notes\.txt/, say.share)
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await fromMenu(page, say, /^notes\.txt/, say.details)
  await page.getByRole('complementary', { name: say.details }).waitFor()
  equal('loaded', await administering(page, scripts), [])

  const boss = await stranger(page, config)
  const loaded = []
  boss.on('request', (request) => loaded.push(new URL(request.url()).pathname))
  await boss.goto('/app/login')
  await signIn(boss, config)
  await openSection(boss, config, words[config.language].announcements)
  const known = (await administering(boss, loaded)).map(({ what }) => what)
  for (const what of ['addresses', 'texts']) equal(`whether the ${what} are known`, known.includes(what), true)

  const folder = await createFolder(boss, config, 'No administration', [notes], '/public')
  const id = await share(boss, folder)
  for (const address of [`/share/${id}`, `${encodeURI(folder)}/`]) {
    const guest = await stranger(page, config)
    const seen = []
    guest.on('request', (request) => seen.push(new URL(request.url()).pathname))
    await guest.goto(address)
    await guest.getByRole('link', { name: /^notes\.txt/ }).click()
    await guest.getByText('a few words for a friend').waitFor()
    equal(`scripts of ${address}`, seen.some((path) => path.endsWith('.js')), true)
    equal(`loaded by ${address}`, await administering(guest, seen), [])
    await done(guest)
  }
  await done(boss)
}

// administering returns the loaded scripts that contain an address of the administration API, or a
// text of the administration in one of the languages.
async function administering(page, paths) {
  const sentences = Object.values(words).flatMap(({ noTitle, explain }) => [noTitle, explain])
  const found = []
  for (const path of paths.filter((path) => path.endsWith('.js'))) {
    const script = await (await page.request.get(path)).text()
    if (script.includes('/api/admin/')) found.push({ path, what: 'addresses' })
    if (sentences.some((sentence) => script.includes(sentence))) found.push({ path, what: 'texts' })
  }
  return found
}

export const scenarios = [
  {
    name: 'administers announcements',
    forms: (full) => [
      ...bothLanguages(full),
      { language: 'zh-CN', theme: 'light', size: 'small' },
      ...windows(full, ['narrow']),
    ],
    run: announces,
  },
  { name: 'hides the administration from others', forms: once, run: refused },
]
