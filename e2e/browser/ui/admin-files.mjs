// The files and the shares of all users, as an administrator manages them.
import { desksAndPhone, look, notice } from './admin-rules.mjs'
import { createFolder, enter } from './files.mjs'
import { equal, until } from './harness.mjs'
import { labels, signInAt } from './labels.mjs'
import { png } from './pictures.mjs'
import { api, done, saved, share, stranger } from './stranger.mjs'

// The texts of the screens, by language.
const texts = {
  'en-US': {
    admin: 'Administration',
    files: 'Files',
    shares: 'Shares',
    search: 'Search all files by name',
    searchShares: 'Search name or creator',
    found: '2 items found',
    folderOf: (name) => `Open the folder of ${name}`,
    downloadOf: (name) => `Download ${name}`,
    remove: (name) => `Delete “${name}”`,
    none: (text) => `No names contain “${text}”`,
    deleteForGood: /^Delete/,
    deleted: 'Deleted',
    revokeOf: (name) => `Revoke the share of ${name}`,
    openOf: (name) => `Open ${name} as a visitor`,
    select: (name) => `Select ${name}`,
    revoke: 'Revoke',
    revokeMany: 'Revoke…',
    revokedOne: 'Share revoked. Its link no longer works.',
    revokedTwo: '2 shares revoked. The links no longer work.',
    ended: 'This share no longer works',
    active: 'Active',
    revoked: 'Revoked',
    state: 'Status',
    filters: /^Filters/,
  },
  'zh-CN': {
    admin: '管理',
    files: '文件',
    shares: '分享',
    search: '按名称搜索所有文件',
    searchShares: '搜索名称或创建者',
    found: '找到 2 项',
    folderOf: (name) => `打开 ${name} 所在的文件夹`,
    downloadOf: (name) => `下载 ${name}`,
    remove: (name) => `删除“${name}”`,
    none: (text) => `没有名称包含“${text}”的文件`,
    deleteForGood: /删除/,
    deleted: '已删除',
    revokeOf: (name) => `撤销 ${name} 的分享`,
    openOf: (name) => `以访客身份打开 ${name}`,
    select: (name) => `选择 ${name}`,
    revoke: '撤销',
    revokeMany: '撤销…',
    revokedOne: '分享已撤销，链接不再可用。',
    revokedTwo: '已撤销 2 个分享，链接不再可用。',
    ended: '分享已失效',
    active: '有效',
    revoked: '已撤销',
    state: '状态',
    filters: /^筛选/,
  },
}

const row = (page, name) => page.getByRole('row').filter({ hasText: name })

const face = png(64, 64, 0.3).toString('base64')

// pictured waits until a row shows the picture of its account.
const pictured = (row) =>
  until('the picture of the account', () =>
    row.locator('img').evaluateAll((images) => images.some((image) => image.naturalWidth > 0)),
  )

// theirs signs in as a new user in another browser, with a picture and a folder of files there.
async function theirs(page, config, names) {
  const username = await config.ask('createAccount', { locale: config.language })
  const owner = await stranger(page, { ...config, size: 'desk' })
  await signInAt(owner, { ...config, username }, '/app/files')
  await owner.evaluate(async (face) => {
    const { data } = await (await fetch('/api/auth/csrf-token')).json()
    const body = Uint8Array.from(atob(face), (c) => c.charCodeAt(0))
    const headers = { 'X-CSRF-Token': data.token }
    const answer = await fetch('/api/users/me/avatar', { method: 'PUT', headers, body })
    if (!answer.ok) throw new Error(await answer.text())
  }, face)
  const files = names.map((name) => ({ name, bytes: btoa(`${name} of ${username}`) }))
  const folder = await createFolder(owner, { username }, 'Deep', files)
  return { owner, username, folder }
}

// section opens a section of the administration by its link.
async function section(page, say, name) {
  await page.goto('/app/admin')
  await page.getByRole('navigation', { name: say.admin }).getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { level: 2, name, exact: true }).waitFor()
}

// "I find a file of another user across mounts and jump to its folder." A file can be downloaded
// and deleted from the list.
async function findsFiles(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const word = `needle ${config.language} ${config.size}`
  const { owner, username, folder } = await theirs(page, config, [`${word} 1.txt`, `${word} 2.txt`])
  await section(page, say, say.files)
  await page.getByRole('searchbox', { name: say.search }).fill(word)
  await page.getByText(say.found, { exact: true }).waitFor()
  for (const text of [username, folder]) await row(page, `${word} 1.txt`).getByText(text, { exact: true }).waitFor()
  await pictured(row(page, `${word} 1.txt`))
  await look(page, config, 'files')
  await page.reload() // the search is in the address
  await page.getByText(say.found, { exact: true }).waitFor()

  const { bytes } = await saved(page, () => page.getByRole('button', { name: say.downloadOf(`${word} 1.txt`) }).click())
  equal('the saved bytes', bytes.toString(), `${word} 1.txt of ${username}`)

  await page.getByRole('button', { name: say.remove(`${word} 2.txt`) }).click()
  await page.getByRole('dialog').getByRole('button', { name: say.deleteForGood }).last().click()
  await notice(page, config, say.deleted)
  await row(page, `${word} 2.txt`).waitFor({ state: 'detached' })
  equal('whether an element has the focus', await page.evaluate(() => document.activeElement !== document.body), true)

  await page.getByRole('link', { name: say.folderOf(`${word} 1.txt`) }).click()
  await page.waitForURL((url) => decodeURIComponent(url.pathname) === `/app/files${folder}`)
  await page.getByRole('gridcell', { name: `${word} 1.txt` }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: `${word} 1.txt`, exact: true }).click()
  await page.waitForURL((url) => url.searchParams.has('view'))
  await page.getByText(`${word} 1.txt of ${username}`).waitFor()
  await page.goto('/app/admin/files?search=no-such-name')
  await page.getByText(say.none('no-such-name')).waitFor()
  await page.goto(`/app/admin/users?search=${username}`)
  await pictured(row(page, username))
  await done(owner)
}

// "I revoke somebody's share, and the stranger sees that it was revoked."
async function revokesShares(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const names = ['one', 'two', 'three'].map((name) => `${name} ${config.language} ${config.size}.txt`)
  const { owner, username, folder } = await theirs(page, config, names)
  const ids = []
  for (const name of names) ids.push(await share(owner, `${folder}/${name}`, {}))
  const [one, two, three] = names
  await section(page, say, say.shares)
  await row(page, one).getByText(username, { exact: true }).waitFor()
  await row(page, one).getByText(say.active, { exact: true }).waitFor()
  await pictured(row(page, one))
  await look(page, config, 'shares')
  const search = page.getByRole('searchbox', { name: say.searchShares })
  await search.fill(two.toUpperCase())
  await row(page, one).waitFor({ state: 'detached' })
  await row(page, two).waitFor()
  await search.fill('')
  await row(page, one).waitFor()
  const visit = await page.getByRole('link', { name: say.openOf(one) }).getAttribute('href')
  equal('the address for visitors', new URL(visit).pathname, `/share/${ids[0]}`)

  const guest = await stranger(page, { ...config, size: 'phone' })
  const meets = async (id, heading) => {
    await guest.goto(`/share/${id}`)
    await guest.getByRole('heading', { level: 1, name: heading }).waitFor()
  }
  await meets(ids[0], one)
  await page.getByRole('button', { name: say.revokeOf(one) }).click()
  await page.getByRole('dialog').getByRole('button', { name: say.revoke, exact: true }).click()
  await notice(page, config, say.revokedOne)
  await row(page, one).getByText(say.revoked, { exact: true }).waitFor()
  await meets(ids[0], say.ended)

  for (const name of [two, three]) await page.getByRole('checkbox', { name: say.select(name) }).check()
  await page.getByRole('button', { name: say.revokeMany }).click()
  await page.getByRole('dialog').getByRole('button', { name: say.revoke, exact: true }).click()
  await notice(page, config, say.revokedTwo)
  await meets(ids[1], say.ended)
  await meets(ids[2], say.ended)
  equal('whether an element has the focus', await page.evaluate(() => document.activeElement !== document.body), true)

  // the filter is in the address
  if (config.size === 'phone') await page.getByRole('button', { name: say.filters }).click()
  await page.getByLabel(say.state, { exact: true }).selectOption({ label: say.active })
  await until('the filter in the address', () => new URL(page.url()).searchParams.get('status') === 'active')
  await row(page, one).waitFor({ state: 'detached' })
  equal('the owner’s own list', (await api(owner, 'GET', '/api/shares/?status=active')).items.length, 0)
  await done(owner)
  await done(guest)
}

export const scenarios = [
  { name: 'administrators find files of all users', forms: desksAndPhone, run: findsFiles },
  { name: 'administrators revoke shares of all users', forms: desksAndPhone, run: revokesShares },
]
