// Favourites, recent files, and the tree of folders: "I star a picture, and find it again."
import { createFolder, enter } from './files.mjs'
import { bothLanguages, everyWith } from './forms.mjs'
import { becomes, equal, give, inspect, isPhone } from './harness.mjs'
import { labels } from './labels.mjs'
import { png } from './pictures.mjs'

const texts = {
  'en-US': {
    recent: 'Recent',
    favourites: 'Favorites',
    favourite: 'Favorite',
    star: 'Add to Favorites',
    removed: '1 item removed from Favorites.',
    none: 'No favorites yet',
    showIn: 'Open containing folder',
    inTrash: (name) => `“${name}” is in the trash.`,
    undo: 'Undo',
    folders: 'Folders',
    largeTiles: 'Large tiles',
  },
  'zh-CN': {
    recent: '最近',
    favourites: '收藏',
    favourite: '收藏',
    star: '收藏',
    removed: '已取消收藏 1 项。',
    none: '还没有收藏',
    showIn: '打开所在文件夹',
    inTrash: (name) => `“${name}”已移到回收站。`,
    undo: '撤销',
    folders: '文件夹',
    largeTiles: '大图块',
  },
}

const path = (page) => decodeURIComponent(new URL(page.url()).pathname)
const cell = (page, name) => page.getByRole('gridcell', { name: new RegExp(`^${name.replace('.', '\\.')}`) })
const entry = (page, name) => page.getByRole('link', { name: new RegExp(`^${name.replace('.', '\\.')}`) })

// goes follows a link of the navigation.
async function goes(page, say, name) {
  await page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

async function stars(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const picture = { name: 'lake.png', bytes: (await png(64, 48)).toString('base64') }
  const folder = await createFolder(page, config, `Stars ${config.language}`, [
    picture,
    { name: 'list.txt', bytes: btoa('words') },
  ])
  await page.goto(`/app/files${folder}`)
  await entry(page, 'lake.png').click()
  await page.keyboard.press('Alt+KeyI')
  const button = page.getByRole('complementary').getByRole('button', { name: say.favourite, exact: true })
  await button.click()
  await becomes('the star in the details', () => button.getAttribute('aria-pressed'), 'true')
  await cell(page, 'lake.png').getByRole('img', { name: say.favourite }).waitFor()
  equal('faults of the details', await inspect(page), [])
  await config.shot('favourite-details')

  await goes(page, say, say.favourites)
  await cell(page, 'lake.png').waitFor()
  equal('favourites', await page.getByRole('gridcell').count(), 1)
  equal('faults of the favourites', await inspect(page), [])
  await config.shot('favourites')
  await entry(page, 'lake.png').dblclick()
  await page.waitForURL((url) => url.searchParams.has('view'))
  await page.getByRole('dialog').getByRole('img').first().waitFor()
  await page.keyboard.press('Escape')
  await page.waitForURL((url) => !url.searchParams.has('view'))

  // a star in the trash
  await entry(page, 'lake.png').click()
  await page.keyboard.press('Delete')
  const undo = page.getByRole('button', { name: say.undo })
  await undo.hover() // a message stays under the pointer
  await page.getByText(say.inTrash('lake.png')).waitFor()
  await page.getByText(say.none).waitFor()
  await undo.click()
  await cell(page, 'lake.png').waitFor()

  // by the menu and by the key
  await entry(page, 'lake.png').click()
  await page.keyboard.press('Shift+F10')
  await page.getByRole('menuitem', { name: say.showIn }).click()
  await page.waitForURL((url) => decodeURIComponent(url.pathname) === `/app/files${folder}`)
  await entry(page, 'list.txt').click()
  await page.keyboard.press('Shift+F10')
  await page.getByRole('menuitem', { name: new RegExp(`^${say.star}`) }).click()
  await cell(page, 'list.txt').getByRole('img', { name: say.favourite }).waitFor()
  await goes(page, say, say.favourites)
  await cell(page, 'lake.png').waitFor()
  await entry(page, 'list.txt').click()
  await page.keyboard.press('Alt+KeyS')
  await page.getByText(say.removed).waitFor()
  await cell(page, 'list.txt').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: say.undo }).click()
  await cell(page, 'list.txt').waitFor()
  await entry(page, 'list.txt').click()
  await page.keyboard.press('Alt+KeyS')
  await cell(page, 'list.txt').waitFor({ state: 'detached' })
  await entry(page, 'lake.png').click()
  await page.keyboard.press('Alt+KeyS')
  await page.getByText(say.none).waitFor()
}

async function recent(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Recent ${config.language}`, [])
  await page.goto(`/app/files${folder}`)
  const name = `fresh ${config.language}.txt`
  const file = { name, mimeType: 'text/plain', buffer: Buffer.from('fresh') }
  await give(page, () => page.getByRole('button', { name: say.upload, exact: true }).first().click(), [file])
  await cell(page, name).waitFor()
  await goes(page, say, say.recent)
  await cell(page, name).getByText(folder, { exact: true }).waitFor()
  equal('faults of the recent files', await inspect(page), [])
  await config.shot('recent')

  // large tiles show the time, too; the columns of the list do not sort
  const display = async (view) => {
    await page.getByRole('button', { name: say.display }).click()
    await page.getByRole('menuitemradio', { name: view, exact: true }).click()
  }
  await display(say.largeTiles)
  await cell(page, name).getByText(folder, { exact: true }).waitFor()
  await becomes('the lines below the name', () => cell(page, name).locator('.tile > .meta').count(), 2)
  await config.shot('recent-large')
  await display(say.list)
  const heads = page.getByRole('columnheader')
  await becomes('the columns', () => heads.count(), 5)
  equal('the columns that sort', await heads.and(page.locator('[aria-sort]')).count(), 0)
  equal('the buttons of the columns', await heads.getByRole('button').count(), 0)
  await config.shot('recent-list')
}

async function tree(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const name = `Tree ${config.language}`
  const folder = await createFolder(page, config, name, [])
  await page.reload()
  const folders = page.getByRole('tree', { name: say.folders })
  const item = (name) => folders.getByRole('treeitem', { name, exact: true })
  await item(say.homes).click()
  await page.waitForURL('**/app/files/home')
  await page.getByRole('heading', { level: 1, name: say.homes, exact: true }).waitFor()
  await page.keyboard.press('ArrowRight')
  await item(config.username).waitFor()
  await page.keyboard.press(config.username[0])
  await page.keyboard.press('ArrowRight')
  await item(name).waitFor()
  for (let n = 0; n < 30 && (await item(name).getAttribute('aria-selected')) !== 'true'; n++)
    await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await becomes('the folder of the tree', () => path(page), `/app/files${folder}`)
  equal('the mark in the tree', await item(name).getAttribute('aria-selected'), 'true')
  equal('faults of the tree', await inspect(page), [])
  await config.shot('tree')
  await page.reload()
  await item(name).waitFor()

  // the same names in the path, in the listing, and where a folder is chosen
  const steps = page.getByRole('navigation', { name: say.path }).getByRole('link')
  equal('the path', await steps.allInnerTexts(), [say.files, say.homes, config.username])
  await steps.first().click()
  await page.getByRole('link', { name: say.publicFolder, exact: true }).click()
  await config.shot('built-in')
  await page.keyboard.press('Shift+F10')
  await page.getByRole('menuitem', { name: say.copyTo }).click()
  const picker = page.getByRole('dialog', { name: say.copyTitle })
  for (const name of [say.homes, say.publicFolder]) await picker.getByRole('treeitem', { name, exact: true }).waitFor()
}

async function looks(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  await page.goto('/app/favourites')
  await page.getByRole('heading', { level: 1, name: say.favourites }).waitFor()
  equal('faults of the page', await inspect(page), [])
  await config.shot('favourites-page')
  const used = page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: say.used })
  if (!isPhone(config.size)) return used.waitFor()
  await page.getByRole('button', { name: say.pages, exact: true }).click()
  await page.getByRole('menuitem', { name: say.keys }).waitFor()
  await config.shot('pages')
  await page.getByRole('menuitem', { name: say.used }).click()
  await page.waitForURL('**/app/settings/storage')
}

export const scenarios = [
  { name: 'a starred picture is found again', forms: bothLanguages, run: stars },
  { name: 'an upload is among the recent files', forms: bothLanguages, run: recent },
  { name: 'the tree of folders', forms: bothLanguages, run: tree },
  { name: 'favourites look right', forms: everyWith('narrow'), run: looks },
]
