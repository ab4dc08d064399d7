// The first run of a new site: three steps lead its administrator to a stored picture with a link,
// and a checklist stays until it is dismissed. Each scenario needs a new site.
import { openSection } from './admin.mjs'
import { once } from './forms.mjs'
import { becomes, equal, give, until } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { png } from './pictures.mjs'
import { done, look, stranger } from './stranger.mjs'

export const words = {
  'en-US': {
    step: (n) => `Step ${n} of 3`,
    title: 'Name of the site',
    description: 'Description',
    trashAll: 'Every deletion goes to the trash',
    next: 'Continue',
    back: 'Back',
    skip: 'Skip',
    tested: /^Tested: it works/,
    free: /\d (GB|TB|MB) free/,
    test: 'Test “local”…',
    works: 'The storage works.',
    connect: 'Connect a bucket…',
    useDisk: "Use the server's disk",
    choose: 'Choose a picture',
    stored: '“first light.png” is stored',
    asked: 'Upload a picture. It gets a link that anyone can open.',
    uploadDone: 'The first upload is done. Next, go to your files to upload more and to share.',
    open: 'Anyone with the link can open it.',
    link: 'Link',
    copyLink: 'Copy: Link',
    copied: 'Copied: Link',
    finish: 'Go to files',
    dashboard: 'Dashboard',
    list: 'Setup steps',
    progress: (n) => `${n} of 7 done`,
    uploaded: 'Upload a first file',
    key: 'Create a key for an image client',
    dismiss: "Don't show again",
    hidden: 'The list is hidden.',
    steps: 'Continue the first steps',
  },
  'zh-CN': {
    step: (n) => `第 ${n} 步，共 3 步`,
    title: '站点名称',
    description: '简介',
    trashAll: '所有删除都进入回收站',
    next: '继续',
    back: '上一步',
    skip: '跳过',
    tested: /^测试通过/,
    free: /剩余 .*\d (GB|TB|MB)/,
    test: '测试“local”…',
    works: '存储可用。',
    connect: '连接存储桶…',
    useDisk: '使用服务器磁盘',
    choose: '选择图片',
    stored: '“first light.png”已保存',
    asked: '上传一张图片，它会得到一个任何人都能打开的链接。',
    uploadDone: '第一次上传已完成。接下来可以进入文件，继续上传和分享。',
    open: '任何人都可以打开此链接。',
    link: '链接',
    copyLink: '复制: 链接',
    copied: '已复制: 链接',
    finish: '进入文件',
    dashboard: '概览',
    list: '设置步骤',
    progress: (n) => `已完成 ${n}/7`,
    uploaded: '上传第一个文件',
    key: '为图片客户端创建密钥',
    dismiss: '不再显示',
    hidden: '清单已隐藏。',
    steps: '继续前三步',
  },
}

const heading = (page, { language }, n) => page.getByRole('heading', { level: 1, name: words[language].step(n) })
const path = (page) => new URL(page.url()).pathname

// atStep waits for a step, whose heading then has the focus.
export async function atStep(page, config, n) {
  await heading(page, config, n).waitFor()
  await until(`the focus on the heading of step ${n}`, () =>
    heading(page, config, n).evaluate((title) => title === document.activeElement),
  )
}

async function goesThrough(page, config) {
  const word = words[config.language]
  const button = (name) => page.getByRole('button', { name, exact: true })
  await page.goto('/')
  await signIn(page, config)
  await atStep(page, config, 1)
  await becomes('the title', () => page.getByLabel(word.title, { exact: true }).inputValue(), 'Larder')
  await look(page, config, 'welcome-1')
  await page.getByLabel(word.title, { exact: true }).fill('Our pictures')
  await page.getByLabel(word.description, { exact: true }).fill('Of all of us')
  const trashAll = page.getByRole('switch', { name: word.trashAll })
  equal('whether every deletion goes to the trash', await trashAll.isChecked(), false)
  await trashAll.check()
  await page.getByLabel(word.description, { exact: true }).press('Enter')

  await atStep(page, config, 2)
  await page.getByText(word.tested).waitFor()
  await page.getByText(word.free).waitFor()
  await look(page, config, 'welcome-2')
  await button(word.test).click()
  const test = page.getByRole('dialog', { name: word.test.slice(0, -1) })
  await test.getByText(word.works).waitFor()
  await look(page, config, 'welcome-test')
  await test.getByRole('button', { name: labels[config.language].close, exact: true }).last().click()
  await button(word.connect).click()
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')

  // a reload stays in the step, and the way back shows the stored values
  await page.reload()
  await atStep(page, config, 2)
  await button(word.back).click()
  await atStep(page, config, 1)
  await until('the stored title', async () =>
    (await page.getByLabel(word.title, { exact: true }).inputValue()) === 'Our pictures')
  await becomes('the stored switch', () => trashAll.isChecked(), true)
  await button(word.next).click()
  await atStep(page, config, 2)
  await button(word.useDisk).click()

  await atStep(page, config, 3)
  await look(page, config, 'welcome-3')
  await page.getByText(word.asked).waitFor()
  const picture = png(640, 400, 0.4)
  const file = { name: 'first light.png', mimeType: 'image/png', buffer: picture }
  await give(page, () => button(word.choose).click(), file)
  await page.getByRole('heading', { name: word.stored }).waitFor()
  await page.getByText(word.open).waitFor()
  await page.getByText(word.uploadDone).waitFor()
  await becomes('requests to upload a picture', () => page.getByText(word.asked).count(), 0)
  const link = await page.getByRole('textbox', { name: word.link, exact: true }).inputValue()
  equal('the link', /^\/api\/i\/[A-Za-z0-9]{22}\.png$/.test(link.replace(config.base, '')), true)
  await until('the picture', () =>
    page.getByRole('img', { name: 'first light.png' }).evaluate((image) => image.naturalWidth === 640))
  await button(word.copyLink).click()
  await button(word.copied).waitFor()
  await look(page, config, 'welcome-stored')
  const answer = await fetch(link) // as a visitor without an account
  equal('the stored bytes', Buffer.from(await answer.arrayBuffer()).equals(picture), true)
  await page.reload()
  await page.getByRole('heading', { name: word.stored }).waitFor()
  await until('the same link', async () =>
    (await page.getByRole('textbox', { name: word.link, exact: true }).inputValue()) === link)
  await button(word.finish).click()
  await page.getByRole('link', { name: 'first light.png' }).waitFor()
  equal('the address', path(page), '/app/files')
  equal('the title of the page', (await page.title()).endsWith('Our pictures'), true)

  await dismisses(page, config)
}

// In a second browser the steps are over. The checklist is there, and once it is dismissed, no
// browser shows it.
async function dismisses(page, config) {
  const word = words[config.language]
  const card = (on) => on.getByRole('region', { name: word.list })
  await openSection(page, config, word.dashboard)
  await card(page).getByText(word.progress(1)).waitFor()

  const other = await stranger(page, config)
  await other.goto('/')
  await signIn(other, config)
  await other.getByRole('link', { name: 'first light.png' }).waitFor()
  equal('the address in the second browser', path(other), '/app/files')
  await openSection(other, config, word.dashboard)
  await becomes('links of a done item', () => card(other).getByRole('link', { name: word.uploaded }).count(), 0)
  await becomes(
    'where a key is made',
    () => card(other).getByRole('link', { name: word.key }).getAttribute('href'),
    '/app/keys?new=image',
  )
  await look(other, config, 'checklist')
  await card(other).getByRole('button', { name: word.dismiss }).click()
  await other.getByText(word.hidden).waitFor()
  await becomes('checklists', () => card(other).count(), 0)
  await done(other)

  await page.reload()
  await page.getByRole('region', { name: word.dashboard }).getByRole('figure').first().waitFor()
  await becomes('checklists after a reload', () => card(page).count(), 0)
}

// Only the start leads to the steps, and only until they are left.
async function skips(page, config) {
  const word = words[config.language]
  await page.goto('/app/login?next=%2Fapp%2Ffiles%2Fpublic')
  await signIn(page, config)
  await page.getByText(labels[config.language].emptyFolder).waitFor()
  equal('the address', path(page), '/app/files/public')
  await openSection(page, config, word.dashboard)
  await page.getByRole('region', { name: word.list }).getByRole('link', { name: word.steps }).click()
  await atStep(page, config, 1)

  await page.goto('/')
  for (const n of [1, 2, 3]) {
    await atStep(page, config, n)
    await page.getByRole('button', { name: word.skip, exact: true }).focus()
    await page.keyboard.press('Enter')
  }
  await page.getByRole('link', { name: labels[config.language].publicFolder, exact: true }).waitFor()
  equal('the address after the steps', path(page), '/app/files')
  await page.goto('/')
  await page.getByRole('link', { name: labels[config.language].publicFolder, exact: true }).waitFor()
  equal('the address of the next visit', path(page), '/app/files')
}

export const scenarios = [
  {
    name: 'goes through the first run',
    forms: () => [
      { language: 'en-US', theme: 'light', size: 'desk' },
      { language: 'zh-CN', theme: 'dark', size: 'phone' },
    ],
    run: goesThrough,
  },
  { name: 'skips the first run', forms: once, run: skips },
]
