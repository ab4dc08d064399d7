// The users of the site and their invites, as an administrator manages them.
import { createFolder } from './files.mjs'
import { bothLanguages, once } from './forms.mjs'
import { becomes, equal, inspect, isPhone, until } from './harness.mjs'
import { labels, signIn, signInAt } from './labels.mjs'
import { cramped } from './phone.mjs'
import { api, done, notes, stranger } from './stranger.mjs'

export const texts = {
  'en-US': {
    users: 'Users',
    invites: 'Invites',
    newInvite: 'New invite',
    create: 'Create',
    note: 'Note',
    link: 'Invite link',
    closed: 'Registration is closed, but people with an invite can still register.',
    of: (used, most) => `${used} of ${most}`,
    usedUp: 'Used up',
    works: 'Works',
    deleteInvite: (name) => `Delete the invite “${name}”?`,
    noInvites: 'No invites',
    register: 'Create account',
    email: 'Email address',
    list: 'List of users',
    search: 'Search name or email',
    found: (n) => (n === 1 ? '1 user' : `${n} users`),
    actions: (name) => `Actions for ${name}`,
    setQuota: 'Set quota…',
    mostInTrash: 'Most in the trash',
    inTrash: '9 B in trash and versions',
    newPassword: 'New password…',
    newPasswordFor: (name) => `Give “${name}” a new password?`,
    newPasswordNow: 'New password',
    newPasswordIs: (name) => `New password of “${name}”`,
    emptyTrash: 'Empty trash…',
    emptyTrashOf: (name) => `Empty the trash of “${name}”?`,
    emptyTrashNow: 'Empty trash',
    trashEmptied: (name) => `The trash of “${name}” is emptied.`,
    storage: 'Storage',
    fileCount: 'Files',
    limit: 'Limit',
    mostStorage: 'Most storage',
    mostFiles: 'Most files',
    gigabyte: '24 B of 1.5 GB',
    ofFiles: '1 of 0 files',
    full: /^1 user already has more than the new quota/,
    wrongStorage: 'Enter a number of at least 0, such as 1.5.',
    quotaSet: (n) => (n === 1 ? 'Quota of 1 user changed' : `Quota of ${n} users changed`),
    disable: 'Disable…',
    disableNow: 'Disable',
    disableOf: (name) => `Disable “${name}”?`,
    disableMany: 'Disable 2 users?',
    stops: [
      '2 sessions end',
      '1 API key stops until the user is enabled',
      '1 share stops until the user is enabled',
    ],
    disabled: (n) => (n === 1 ? '1 user disabled' : `${n} users disabled`),
    isDisabled: 'Disabled',
    banned: 'Banned',
    active: 'Active',
    enable: 'Enable…',
    enableNow: 'Enable',
    enableMany: 'Enable 2 users?',
    enabled: (n) => (n === 1 ? '1 user enabled' : `${n} users enabled`),
    refusedAtSignIn: 'This account is disabled. Ask your administrator.',
    guest: 'Guest',
    follows: [
      '1 API key acts with the new role from now on',
      '1 share gives only what the new role may share',
      'The rights on files and folders become those of the new role',
    ],
    delete: 'Delete…',
    deleteNow: 'Delete',
    deleteOf: (name) => `Delete “${name}”?`,
    deleteMany: 'Delete 2 users?',
    ends: [
      '1 API key is revoked',
      '1 share is revoked',
      '1 file (24 B) becomes yours and counts towards your quota',
    ],
    deleted: (n) => (n === 1 ? '1 user deleted' : `${n} users deleted`),
    effects: 'Effects',
    none: 'No users match',
    newUser: 'New user',
    generate: 'Generate',
    role: 'Role',
    status: 'Status',
    made: (name) => `User “${name}” created`,
    edit: (name) => `Edit “${name}”`,
    save: 'Save',
    saved: 'Saved',
    folder: 'Home folder',
    wrongFolder: 'Enter a path that begins with /, lies in a mount, and is not that of a file.',
    own: ["You can't change your own role. Ask another administrator.", "You can't disable your own account."],
    you: 'You',
    notSeen: 'Not seen yet',
    selectAll: 'Select all on this page',
    select: (name) => `Select ${name}`,
    selected: (n) => `${n} selected`,
    failed: '1 user could not be changed:',
    failedOf: (name) => `${name}: This is the last active administrator. Make another one first.`,
    nameTaken: 'That user name is taken.',
    emailTaken: 'Another account uses that address.',
    leastName: 'Use at least 3 characters.',
    filters: /^Filters/,
  },
  'zh-CN': {
    users: '用户',
    invites: '邀请',
    newInvite: '新建邀请',
    create: '创建',
    note: '备注',
    link: '邀请链接',
    closed: '注册已关闭，但持有邀请链接的人仍可注册。',
    of: (used, most) => `${used} / ${most}`,
    usedUp: '已用完',
    works: '可用',
    deleteInvite: (name) => `删除邀请“${name}”？`,
    noInvites: '还没有邀请',
    register: '注册',
    email: '邮箱地址',
    list: '用户列表',
    search: '按用户名、邮箱或显示名搜索',
    found: (n) => `共 ${n} 个用户`,
    actions: (name) => `${name} 的操作`,
    setQuota: '设置配额…',
    mostInTrash: '回收站上限',
    edit: (name) => `编辑“${name}”`,
    saved: '已保存',
    inTrash: '回收站和历史版本 9 B',
    newPassword: '新密码…',
    newPasswordFor: (name) => `为“${name}”设置新密码？`,
    newPasswordNow: '新密码',
    newPasswordIs: (name) => `“${name}”的新密码`,
    emptyTrash: '清空回收站…',
    emptyTrashOf: (name) => `清空“${name}”的回收站？`,
    emptyTrashNow: '清空回收站',
    trashEmptied: (name) => `“${name}”的回收站已清空。`,
    storage: '存储空间',
    fileCount: '文件数',
    limit: '限制',
    mostStorage: '存储上限',
    mostFiles: '文件数上限',
    gigabyte: '24 B / 1.5 GB',
    ofFiles: '1 / 0 个文件',
    full: /^1 个用户的已用量超过新配额/,
    wrongStorage: '请输入不小于 0 的数，例如 1.5。',
    quotaSet: (n) => `已更改 ${n} 个用户的配额`,
    disable: '停用…',
    disableNow: '停用',
    disableOf: (name) => `停用“${name}”？`,
    stops: ['2 个会话结束', '1 个 API 密钥停止工作，重新启用后恢复', '1 个分享无法打开，重新启用后恢复'],
    disabled: (n) => `已停用 ${n} 个用户`,
    isDisabled: '已停用',
    refusedAtSignIn: '此账户已停用，请联系管理员。',
    role: '角色',
    guest: '访客',
    follows: [
      '1 个 API 密钥此后按新角色的权限工作',
      '1 个分享此后只提供新角色可以分享的内容',
      '对文件和文件夹的权限变为新角色的权限',
    ],
    delete: '删除…',
    deleteNow: '删除',
    deleteOf: (name) => `删除“${name}”？`,
    ends: ['1 个 API 密钥被撤销', '1 个分享被撤销', '1 个文件（24 B）归您所有，并计入您的配额'],
    deleted: (n) => `已删除 ${n} 个用户`,
    effects: '影响',
    none: '没有符合条件的用户',
    save: '保存',
    filters: /^筛选/,
  },
}
const wordsOf = ({ language }) => ({ ...labels[language], ...texts[language] })

let people = 0
const newName = () => `m${Date.now().toString(36)}${people++}`
const newPerson = (username) => ({
  username,
  email: `${username}@example.org`,
  password: `password of ${username}`,
})

const labelled = (page, name) => page.getByLabel(name, { exact: true })
const button = (page, name) => page.getByRole('button', { name, exact: true })
const press = (page, name) => button(page, name).click()
const tab = (page, name) => page.getByRole('tab', { name, exact: true })
const rowOf = (page, say, name) =>
  page.getByRole('row').filter({ has: page.getByRole('button', { name: say.actions(name), exact: true }) })
const sentencesOf = (page, say) => page.getByRole('list', { name: say.effects }).getByRole('listitem').allTextContents()

async function fromMenuOf(page, say, name, action) {
  await press(page, say.actions(name))
  await page.getByRole('menuitem', { name: action }).click()
}

// find searches for a user, whose row it returns.
async function find(page, say, name) {
  await page.getByRole('searchbox', { name: say.search }).fill(name)
  await until('the search in the address', () => new URL(page.url()).searchParams.get('search') === name)
  const row = rowOf(page, say, name)
  await row.waitFor()
  return row
}

// deleteHomes deletes the homes of deleted users.
async function deleteHomes(page, people) {
  const { items } = await api(page, 'GET', '/api/files?path=/home&limit=1000')
  for (const { id, name } of items)
    if (people.some(({ username }) => name.startsWith(`${username}.deleted-`)))
      await api(page, 'DELETE', `/api/files/${id}`)
}

async function looksRight(page, config, name) {
  equal(`faults of ${name}`, await inspect(page), [])
  equal(`what is cramped on ${name}`, await cramped(page, config), [])
  await config.shot(name)
}

async function start(page, config, query = '') {
  await signInAt(page, config, `/app/admin/users${query}`)
}

// An administrator invites somebody, sets a quota, disables the account, and deletes it.
async function manages(page, config) {
  const say = wordsOf(config)
  const mia = newPerson(newName())
  await config.ask('siteSettings', { allowRegistration: false, requireInviteCode: false })
  await start(page, config)
  await tab(page, say.invites).click()
  await page.getByText(say.closed).waitFor()
  await press(page, say.newInvite)
  await labelled(page, say.note).fill(mia.username)
  await looksRight(page, config, 'admin-invite-new')
  await press(page, say.create)
  const link = await labelled(page, say.link).inputValue()
  await config.shot('admin-invite-made')
  await button(page, say.close).last().click()
  const invite = page.getByRole('row').filter({ hasText: mia.username })
  await invite.getByText(say.of(0, 1), { exact: true }).waitFor()
  await looksRight(page, config, 'admin-invites')

  const guest = await stranger(page, config)
  await guest.goto(link)
  await labelled(guest, say.username).fill(mia.username)
  await labelled(guest, say.email).fill(mia.email)
  await labelled(guest, say.password).fill(mia.password)
  await press(guest, say.register)
  await guest.waitForURL((url) => url.pathname === `/app/files/home/${mia.username}`)
  await createFolder(guest, mia, 'old', [{ name: 'draft.txt', bytes: btoa('123456789') }])
  const old = await api(guest, 'GET', `/api/files?path=/home/${mia.username}/old`)
  await api(guest, 'DELETE', `/api/files/${old.items[0].id}?trash=true`)
  await createFolder(guest, mia, 'notes', [notes])
  const { items } = await api(guest, 'GET', `/api/files?path=/home/${mia.username}/notes`)
  await api(guest, 'POST', '/api/shares/', { fileId: items[0].id })
  await api(guest, 'POST', '/api/keys/', { name: 'script', permissions: ['read'], protocols: ['api'] })
  const other = await stranger(page, config)
  await other.goto('/app/login')
  await signIn(other, { ...config, ...mia })
  await other.waitForURL((url) => url.pathname.startsWith('/app/files'))
  await done(other)

  await tab(page, say.users).click()
  const row = await find(page, say, mia.username)
  await fromMenuOf(page, say, mia.username, say.setQuota)
  const limit = (what) =>
    page.getByRole('group', { name: what }).getByRole('radio', { name: say.limit, exact: true }).check()
  await limit(say.storage)
  await limit(say.fileCount)
  await labelled(page, say.mostStorage).fill('-1')
  await labelled(page, say.mostFiles).fill('0')
  await page.getByText(say.full).waitFor()
  await press(page, say.save)
  await page.getByText(say.wrongStorage).waitFor()
  await looksRight(page, config, 'admin-users-quota')
  await labelled(page, say.mostStorage).fill('1.5')
  await press(page, say.save)
  await page.getByText(say.quotaSet(1)).waitFor()
  await row.getByText(say.gigabyte).waitFor()
  await row.getByText(say.ofFiles).waitFor()

  await emptiesTrash(page, config, guest, mia)

  await fromMenuOf(page, say, mia.username, say.disable)
  await page.getByRole('dialog', { name: say.disableOf(mia.username) }).waitFor()
  equal('what disabling does', await sentencesOf(page, say), say.stops)
  await looksRight(page, config, 'admin-users-disable')
  await press(page, say.disableNow)
  await page.getByText(say.disabled(1)).waitFor()
  await row.getByText(say.isDisabled, { exact: true }).waitFor()
  equal('the search in the address', new URL(page.url()).searchParams.get('search'), mia.username)

  await guest.goto('/')
  await guest.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
  await signIn(guest, { ...config, ...mia })
  await guest.getByText(say.refusedAtSignIn).waitFor()
  await done(guest)

  await changesRole(page, config, mia)

  await fromMenuOf(page, say, mia.username, say.delete)
  await page.getByRole('dialog', { name: say.deleteOf(mia.username) }).waitFor()
  equal('what the deletion does', await sentencesOf(page, say), say.ends)
  await looksRight(page, config, 'admin-users-delete')
  await press(page, say.deleteNow)
  await page.getByText(say.deleted(1)).waitFor()
  await page.getByText(say.none).waitFor()
  equal('the focus', await page.evaluate(() => document.activeElement.textContent), say.users)

  await page.goto('/app/files/home')
  const home = page.getByRole('link', { name: new RegExp(`^${mia.username}\\.deleted-`) })
  await home.waitFor()
  const found = await api(page, 'GET', `/api/files?path=/home&search=${notes.name}&limit=1000`)
  const kept = found.items.filter(({ path }) => path.startsWith(`/home/${mia.username}.deleted-`))
  const { profile } = await api(page, 'GET', '/api/users/me/settings')
  equal('the owners of her file', kept.map(({ ownerId }) => ownerId), [profile.id])
  await deleteHomes(page, [mia])

  await page.goto('/app/admin/users?tab=invites')
  await invite.getByText(say.usedUp, { exact: true }).waitFor()
  await invite.getByText(say.of(1, 1), { exact: true }).waitFor()
  await invite.getByRole('button', { name: say.deleteNow }).click()
  await page.getByRole('dialog', { name: say.deleteInvite(mia.username) }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: say.deleteNow, exact: true }).click()
  await invite.waitFor({ state: 'detached' })
}

// An administrator gives another role to an account without a session, whose key and share stay.
async function changesRole(page, config, { username }) {
  const say = wordsOf(config)
  await press(page, say.edit(username))
  const dialog = page.getByRole('dialog')
  await labelled(dialog, say.role).selectOption({ label: say.guest })
  equal('what the role changes', await sentencesOf(page, say), say.follows)
  await looksRight(page, config, 'admin-users-role')
  await press(dialog, say.save)
  await dialog.waitFor({ state: 'detached' })
  const { users } = await api(page, 'GET', `/api/admin/users?search=${username}`)
  equal('the role', users[0].role, 'guest')
}

// An administrator sees what the trash keeps of a user, bounds it and empties it.
async function emptiesTrash(page, config, guest, { username }) {
  const say = wordsOf(config)
  const row = rowOf(page, say, username)
  await row.getByText(say.inTrash).waitFor()
  await press(page, say.edit(username))
  const dialog = page.getByRole('dialog')
  await becomes('half of the storage', () => labelled(dialog, say.mostInTrash).inputValue(), '768')
  await labelled(dialog, say.mostInTrash).fill('two')
  await press(dialog, say.save)
  await page.getByText(say.wrongStorage).waitFor()
  await looksRight(page, config, 'admin-users-trash')
  await labelled(dialog, say.mostInTrash).fill('2')
  await press(dialog, say.save)
  await page.getByText(say.saved, { exact: true }).waitFor()
  await fromMenuOf(page, say, username, say.emptyTrash)
  await page.getByRole('dialog', { name: say.emptyTrashOf(username) }).waitFor()
  await looksRight(page, config, 'admin-users-empty')
  await dialog.getByRole('button', { name: say.emptyTrashNow, exact: true }).click()
  await page.getByText(say.trashEmptied(username)).waitFor()
  await row.getByText(say.inTrash).waitFor({ state: 'detached' })
  const { users } = await api(page, 'GET', `/api/admin/users?search=${username}`)
  equal('what is kept, and its bound', [users[0].keptStorage, users[0].maxKept], [0, 2 * 2 ** 20])
  equal('her trash', (await api(guest, 'GET', '/api/trash')).items, [])
}

// A user who has forgotten the password signs in with the one that an administrator hands over.
async function givesPassword(page, config) {
  const say = wordsOf(config)
  const mia = newPerson(newName())
  await start(page, config)
  await api(page, 'POST', '/api/admin/users', mia)
  await page.goto(`/app/admin/users?search=${mia.username}`)
  const guest = await stranger(page, config)
  await guest.goto('/app/login')
  await signIn(guest, { ...config, ...mia })
  await guest.waitForURL((url) => url.pathname.startsWith('/app/files'))

  await fromMenuOf(page, say, mia.username, say.newPassword)
  const dialog = page.getByRole('dialog', { name: say.newPasswordFor(mia.username) })
  await dialog.waitFor()
  await looksRight(page, config, 'admin-users-new-password')
  await dialog.getByRole('button', { name: say.newPasswordNow, exact: true }).click()
  const details = page.getByRole('dialog', { name: say.newPasswordIs(mia.username) })
  const password = await labelled(details, say.password).inputValue()
  equal('the length of the password', password.length, 20)
  await looksRight(page, config, 'admin-users-password')
  await button(details, say.close).last().click()
  await details.waitFor({ state: 'detached' })

  equal('her session', await guest.evaluate(async () => (await fetch('/api/users/me/settings')).status), 401)
  await done(guest)
  const again = await stranger(page, config)
  await again.goto('/app/login')
  await signIn(again, { ...config, ...mia, password })
  await again.waitForURL((url) => url.pathname === `/app/files/home/${mia.username}`)
  await done(again)
  const { users } = await api(page, 'GET', `/api/admin/users?search=${mia.username}`)
  await api(page, 'DELETE', `/api/admin/users/${users[0].id}`)
  await deleteHomes(page, [mia])
}

// An administrator creates accounts, edits one, and changes several at once.
async function changesSeveral(page, config) {
  const say = wordsOf(config)
  const both = newName()
  const [one, two] = [newPerson(`${both}_1`), newPerson(`${both}_2`)]
  await start(page, config)
  await press(page, say.newUser)
  const dialog = page.getByRole('dialog')
  await labelled(dialog, say.username).fill('ab')
  await labelled(dialog, say.email).fill(one.email)
  await press(dialog, say.generate)
  await press(dialog, say.create)
  await page.getByText(say.leastName).waitFor()
  equal('the focus', await page.evaluate(() => document.activeElement.value), 'ab')
  await labelled(dialog, say.username).fill(config.username)
  await press(dialog, say.create)
  await page.getByText(say.nameTaken).waitFor()
  await labelled(dialog, say.username).fill(one.username)
  await labelled(dialog, say.email).fill(`${config.username}@example.org`)
  await press(dialog, say.create)
  await page.getByText(say.emailTaken).waitFor()
  await labelled(dialog, say.email).fill(one.email)
  await labelled(dialog, say.role).selectOption({ label: say.guest })
  const password = await labelled(dialog, say.password).inputValue()
  await looksRight(page, config, 'admin-users-new')
  await press(dialog, say.create)
  await page.getByRole('dialog', { name: say.made(one.username) }).waitFor()
  await becomes('the password', () => labelled(dialog, say.password).inputValue(), password)
  await config.shot('admin-users-made')
  await dialog.getByRole('button', { name: say.close }).last().click()
  equal('the focus', await page.evaluate(() => document.activeElement.textContent.trim()), say.newUser)
  await api(page, 'POST', '/api/admin/users', two)

  // the own account
  const own = await find(page, say, config.username)
  await own.getByText(say.you, { exact: true }).waitFor()
  await becomes('boxes of the own account', () => own.getByRole('checkbox').count(), 0)
  await press(page, say.actions(config.username))
  const actions = await page.getByRole('menuitem').allTextContents()
  equal('actions for the own account', actions.map((text) => text.trim()), [say.setQuota])
  await page.keyboard.press('Escape')
  await press(page, say.edit(config.username))
  for (const sentence of say.own) await page.getByText(sentence).waitFor()
  for (const name of [say.role, say.status])
    await becomes(`whether ${name} can be changed`, () => labelled(dialog, name).isEnabled(), false)
  await looksRight(page, config, 'admin-users-own')
  await page.keyboard.press('Escape')

  // a field that the server refuses
  await find(page, say, two.username)
  await press(page, say.edit(two.username))
  await labelled(dialog, say.status).selectOption({ label: say.banned })
  await labelled(dialog, say.folder).fill('/api/x')
  await press(dialog, say.save)
  await page.getByText(say.wrongFolder).waitFor()
  equal('the focus', await page.evaluate(() => document.activeElement.value), '/api/x')
  await labelled(dialog, say.folder).fill(`/home/${two.username}`)
  await looksRight(page, config, 'admin-users-edit')
  await press(dialog, say.save)
  await page.getByText(say.saved, { exact: true }).waitFor()
  await rowOf(page, say, two.username).getByText(say.banned, { exact: true }).waitFor()

  // the search and the filters are in the address, and lead there again
  if (isPhone(config.size)) await page.getByRole('button', { name: say.filters }).click()
  await page.getByRole('combobox', { name: say.status }).selectOption({ label: say.banned })
  await until('the filter in the address', () => page.url().includes('status=banned'))
  await page.reload()
  await page.getByText(say.found(1), { exact: true }).waitFor()
  await page.goto('/app/admin/users?role=admin&search=nobody')
  await page.getByText(say.none).waitFor()

  // several at once, of which the server refuses one at first
  const rows = page.getByRole('row').filter({ hasText: both })
  await page.goto(`/app/admin/users?search=${both}`)
  for (const { username } of [one, two]) await page.getByRole('checkbox', { name: say.select(username) }).check()
  await page.getByText(say.selected(2), { exact: true }).waitFor()
  await looksRight(page, config, 'admin-users-selected')
  const { users } = await api(page, 'GET', `/api/admin/users?search=${one.username}`)
  await page.route(`**/api/admin/users/${users[0].id}`, (route) =>
    route.fulfill({
      status: 400,
      json: {
        success: false,
        error: { code: 'VALIDATION_ERROR', message: 'This is the last active administrator.', field: 'status' },
        timestamp: 1,
      },
    }),
  )
  await press(page, say.enable)
  await press(page, say.enableNow) // the second alone is not active
  await page.getByText(say.enabled(1)).waitFor()
  const choose = async () => {
    for (const { username } of [one, two]) await page.getByRole('checkbox', { name: say.select(username) }).check()
  }
  await choose()
  await press(page, say.disable)
  await page.getByRole('dialog', { name: say.disableMany }).waitFor()
  await press(dialog, say.disableNow)
  await page.getByText(say.failed).waitFor()
  await page.getByText(say.failedOf(one.username)).waitFor()
  await page.getByText(say.disabled(1)).waitFor()
  await looksRight(page, config, 'admin-users-refused')
  await page.unroute(`**/api/admin/users/${users[0].id}`)
  await press(dialog, say.disableNow)
  await dialog.waitFor({ state: 'detached' })
  await becomes('the disabled accounts', () => rows.getByText(say.isDisabled, { exact: true }).count(), 2)
  await choose()
  await press(page, say.delete)
  await page.getByRole('dialog', { name: say.deleteMany }).waitFor()
  await press(dialog, say.deleteNow)
  await page.getByText(say.deleted(2)).waitFor()
  await rows.first().waitFor({ state: 'detached' })
  await deleteHomes(page, [one, two])
}

// The list on a phone, and a list that cannot be loaded.
async function looks(page, config) {
  const say = wordsOf(config)
  let refuse = true
  await page.route('**/api/admin/users?*', (route) =>
    refuse
      ? route.fulfill({ status: 409, json: { success: false, error: { code: 'X', message: 'no' } } })
      : route.continue(),
  )
  await start(page, config)
  const retry = page.getByRole('button', { name: config.language === 'zh-CN' ? '重试' : 'Retry' })
  await retry.waitFor()
  equal('faults of a list that failed', await inspect(page), [])
  refuse = false
  await retry.click()
  await rowOf(page, say, config.username).waitFor()
  await looksRight(page, config, 'admin-users')
}

export const scenarios = [
  { name: 'manages a user from the invite to the deletion', forms: bothLanguages, run: manages },
  { name: 'changes several users', forms: once, run: changesSeveral },
  {
    name: 'gives a user a new password',
    forms: () => [
      { language: 'en-US', theme: 'light', size: 'desk' },
      { language: 'zh-CN', theme: 'dark', size: 'phone' },
    ],
    run: givesPassword,
  },
  {
    name: 'shows the users',
    forms: () => [
      { language: 'zh-CN', theme: 'dark', size: 'phone' },
      { language: 'en-US', theme: 'light', size: 'narrow' },
    ],
    run: looks,
  },
]
