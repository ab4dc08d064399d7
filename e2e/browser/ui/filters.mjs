// The command list and the search: "I press Ctrl+K, type a few letters, and find the file or the
// setting that I mean. I find last summer's photos by filters, and the search is remembered."
import { createFolder, enter } from './files.mjs'
import { bothLanguages, small } from './forms.mjs'
import { becomes, equal, inspect, isPhone, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { cramped } from './phone.mjs'
import { examined } from './photos.mjs'

const texts = {
  'en-US': {
    filters: 'Filters',
    kind: 'Type',
    from: 'From',
    to: 'To',
    pictures: 'Pictures',
    bytes: 'Size',
    large: 'At least 1 MB',
    owner: 'Owner',
    mine: 'My files',
    anySize: 'Any size',
    anyOwner: 'Any owner',
    accent: 'Accent color',
    forget: 'Clear last searches',
  },
  'zh-CN': {
    filters: '筛选',
    kind: '类型',
    from: '从',
    to: '到',
    pictures: '图片',
    bytes: '大小',
    large: '至少 1 MB',
    owner: '所有者',
    mine: '我的文件',
    anySize: '任意大小',
    anyOwner: '所有人的文件',
    accent: '强调色',
    forget: '清除最近的搜索',
  },
}

const photographs = [
  ['before.jpg', '2025:05:31 23:59:00'],
  ['summer.jpg', '2025:06:01 00:00:00'],
  ['last.jpg', '2025:08:31 23:59:00'],
  ['after.jpg', '2025:09:01 00:00:00'],
].map(([name, taken]) => ({ name, taken, width: 60, height: 40 }))

async function finds(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const phone = isPhone(config.size)
  const username = await config.ask('createAccount', { locale: config.language })
  const own = { ...config, username }
  await enter(page, own, '')
  await createFolder(page, own, 'Camera', [
    ...(await config.ask('photographs', photographs)),
    { name: 'notes.jpg.txt', bytes: btoa('notes') },
    { name: 'large.jpg.txt', bytes: Buffer.alloc(2 ** 20, 'x').toString('base64') },
  ])
  const folder = `Summer of ${username}`
  await createFolder(page, own, folder, [])
  await examined(page)

  await page.goto('/app/keys') // the list is on every page
  await page.getByRole('heading', { level: 1, name: say.keys }).waitFor()
  const dialog = page.getByRole('dialog', { name: say.commands })
  const opens = async () => {
    if (!phone) return page.keyboard.press('Control+k')
    await page.getByRole('button', { name: say.pages, exact: true }).click()
    await page.getByRole('menuitem', { name: say.commands }).click()
  }
  const faults = async () => [...(await inspect(page)), ...(await cramped(page, config))]
  const field = dialog.getByRole('combobox', { name: say.find })
  const option = (name) => dialog.getByRole('option', { name })
  await opens()
  await field.fill(say.accent)
  await option(new RegExp(`^${say.accent}`)).waitFor()
  await field.fill('summ')
  await option(`summer.jpg /home/${username}/Camera`).waitFor()
  equal('faults of the list', await faults(), [])
  await config.shot('commands-found')

  await field.fill(folder)
  await option(`${folder} /home/${username}`).click()
  await page.waitForURL((url) => decodeURIComponent(url.pathname) === `/app/files/home/${username}/${folder}`)
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: say.keys }).waitFor()
  await opens()

  await field.fill('.jpg')
  await page.keyboard.press('Enter')
  const shows = (...names) =>
    until(`the results ${names}`, async () => {
      const links = await page.getByRole('grid').getByRole('link').allInnerTexts()
      return (
        links
          .map((text) => text.replaceAll(/\s/g, ''))
          .sort()
          .join() === [...names].sort().join()
      )
    })
  await shows('after.jpg', 'before.jpg', 'large.jpg.txt', 'last.jpg', 'notes.jpg.txt', 'summer.jpg')
  const filters = page.getByRole('group', { name: say.filters })
  if (phone) await page.getByRole('button', { name: say.filters }).click()
  await filters.getByLabel(say.bytes).selectOption(say.large)
  await shows('large.jpg.txt')
  await filters.getByLabel(say.bytes).selectOption(say.anySize)
  await filters.getByLabel(say.owner).selectOption(say.mine)
  await shows('after.jpg', 'before.jpg', 'large.jpg.txt', 'last.jpg', 'notes.jpg.txt', 'summer.jpg')
  equal('the owner in the address', new URL(page.url()).searchParams.has('ownerId'), true)
  await filters.getByLabel(say.owner).selectOption(say.anyOwner)
  await filters.getByLabel(say.kind).selectOption(say.pictures)
  await filters.getByLabel(say.from, { exact: true }).fill('2025-06-01')
  await filters.getByLabel(say.to, { exact: true }).fill('2025-08-31')
  await shows('last.jpg', 'summer.jpg')
  const columns = () => page.getByRole('columnheader').count()
  equal('the columns of a grid', await columns(), 0)
  equal('faults of the results', await faults(), [])
  await config.shot('filters')
  if (!phone) {
    await page.getByRole('button', { name: say.list, exact: true }).click()
    await page.reload() // the address contains the filters and the view
    await becomes('whether it is a list', async () => (await columns()) > 0, true)
    await shows('last.jpg', 'summer.jpg')
  }
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: say.keys }).waitFor()

  await opens()
  await option('.jpg').waitFor()
  equal('faults of the last searches', await faults(), [])
  await config.shot('commands-last')
  await field.press('Enter')
  await shows('last.jpg', 'summer.jpg')
  if (phone) await page.getByRole('button', { name: `${say.filters} · 3` }).waitFor()
  else await becomes('the last day', () => filters.getByLabel(say.to, { exact: true }).inputValue(), '2025-08-31')
  await opens()
  await option(say.forget).click()
  await option('.jpg').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await opens()
  await option(say.myFiles).waitFor()
  equal('the last searches after they were cleared', await option('.jpg').count(), 0)
}

export const scenarios = [
  {
    name: 'finds anything, and photos by filters',
    forms: (full) => [...bothLanguages(full), ...small(full)],
    run: finds,
  },
]
