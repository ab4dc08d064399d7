// The permission rules of the administration, and the explanation of a permission.
import { createFolder, enter } from './files.mjs'
import { bothLanguages, once } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { Keys } from './keyboard.mjs'
import { fromMenu } from './panels.mjs'
import { cramped } from './phone.mjs'
import { api, done, stranger } from './stranger.mjs'

// The texts of the screen, by language.
export const texts = {
  'en-US': {
    rules: 'Rules',
    create: 'New rule',
    save: 'Save',
    effect: 'Effect',
    deny: 'Deny',
    appliesTo: 'Applies to',
    account: 'One account',
    users: 'Users',
    user: 'User',
    path: 'Path',
    wrongPath: /^Enter a path that starts with/,
    covers: (folder) => `Applies to ${folder} and everything in it.`,
    accountMay: (name, folder) => `${name} may view and download in ${folder}/**`,
    usersMayNot: (folder) => `Users may not do anything in ${folder}/**`,
    permissions: ['add', 'change', 'delete', 'share'],
    conditions: 'Conditions',
    priority: 'Priority',
    wrongPriority: 'Enter a whole number from -1,000,000 to 1,000,000.',
    addresses: 'IP addresses',
    wrongAddress: "“10.0.0.x” isn't an IP address or network.",
    takes: /^This may take rights from up to \d+ accounts?\.$/,
    takesOne: (name) => `This may take rights from up to 1 account (${name}).`,
    saved: 'Saved',
    editRule: 'Edit rule',
    edit: (text) => `Edit: ${text}`,
    remove: (text) => `Delete: ${text}`,
    removeTitle: 'Delete this rule?',
    delete: 'Delete',
    deleted: 'Deleted',
    search: 'Path',
    count: (n) => `${n} rules`,
    explain: 'Explain access',
    who: 'User',
    ask: 'Explain',
    noUser: 'Choose a user.',
    may: (who, path) => `${who} may view ${path}`,
    mayNot: (who, path) => `${who} may not view ${path}`,
    mayNotDownload: (who, path) => `${who} may not download ${path}`,
    mayNotDelete: (who, path) => `${who} may not delete ${path}`,
    decides: 'This rule decides:',
    noRule: 'No rule allows it, so it is denied.',
    fits: 'Fits and decides: denied.',
    late: 'Fits, but the decision was made before.',
    visitor: 'A visitor',
    why: 'Why?',
    forbidden: "You can't see this",
    action: 'Action',
    back: 'All rules',
    filters: /^Filters/,
  },
  'zh-CN': {
    rules: '权限规则',
    create: '新建规则',
    save: '保存',
    effect: '效果',
    deny: '拒绝',
    appliesTo: '对象',
    account: '单个账户',
    users: '普通用户',
    user: '用户',
    path: '路径',
    wrongPath: /^请输入以 \/ 开头的路径/,
    covers: (folder) => `适用于 ${folder} 及其中的全部内容。`,
    accountMay: (name, folder) => `${name} 可以在 ${folder}/** 查看、下载`,
    usersMayNot: (folder) => `普通用户不能在 ${folder}/** 进行任何操作`,
    permissions: ['添加', '修改', '删除', '分享'],
    conditions: '更多条件',
    priority: '优先级',
    wrongPriority: '请输入 -1,000,000 到 1,000,000 的整数。',
    addresses: 'IP 地址',
    wrongAddress: '“10.0.0.x”不是 IP 地址或网段。',
    takes: /^这可能会收回权限，最多影响 \d+ 个账户。$/,
    takesOne: (name) => `这可能会收回权限，最多影响账户 ${name}。`,
    saved: '已保存',
    editRule: '编辑规则',
    edit: (text) => `编辑：${text}`,
    remove: (text) => `删除：${text}`,
    removeTitle: '删除规则？',
    delete: '删除',
    deleted: '已删除',
    search: '路径',
    count: (n) => `共 ${n} 条规则`,
    explain: '权限分析',
    who: '用户',
    ask: '分析',
    noUser: '请选择一个用户。',
    may: (who, path) => `${who} 可以查看 ${path}`,
    mayNot: (who, path) => `${/\w$/.test(who) ? `${who} ` : who}不能查看 ${path}`,
    mayNotDownload: (who, path) => `${who} 不能下载 ${path}`,
    mayNotDelete: (who, path) => `${who} 不能删除 ${path}`,
    decides: '由此规则决定：',
    noRule: '没有规则允许，因此被拒绝。',
    fits: '符合，由它决定：拒绝。',
    late: '符合，但之前已有结果。',
    visitor: '访客',
    why: '为什么？',
    forbidden: '没有访问权限',
    action: '操作',
    back: '返回规则列表',
    filters: /^筛选/,
  },
}

export const desksAndPhone = (full) => [...bothLanguages(full), { language: 'en-US', theme: 'dark', size: 'phone' }]

// look inspects a state of the administration and takes a picture of it.
export async function look(page, config, what) {
  equal(`faults of ${what}`, await inspect(page), [])
  equal(`what does not fit in ${what}`, await cramped(page, config), [])
  await config.shot(`admin-${what}`)
}

// notice waits for a message.
export const notice = (page, config, words) =>
  page.getByRole('region', { name: labels[config.language].notices }).getByText(words).last().waitFor()

const focused = (page) => page.evaluate(() => document.activeElement !== document.body)

// chooses types part of a name in the field of a user, and takes the account from the list.
export async function chooses(scope, say, name) {
  const field = scope.getByRole('combobox', { name: say.user, exact: true })
  await field.fill(name)
  await scope.getByRole('option', { name: new RegExp(`^${name} `) }).click()
  await becomes('the chosen user', () => field.inputValue(), name)
}

// "I allow a folder to one user, and see by Explain why another is denied and which rule decides."
async function allowsAndExplains(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const [friend, other] = [
    await config.ask('createAccount', { locale: config.language }),
    await config.ask('createAccount', { locale: config.language }),
  ]
  const folder = await createFolder(page, config, `Team ${config.size}`, [
    { name: 'plan.txt', bytes: btoa('the plan') },
  ])
  const file = `${folder}/plan.txt`
  const before = (await api(page, 'GET', '/api/admin/rules?limit=100')).rules.length
  await page.goto('/app/admin')
  await page.getByRole('link', { name: say.rules, exact: true }).click()
  await page.getByRole('heading', { level: 2, name: say.rules }).waitFor()
  await page.getByText('/uploads/**').first().waitFor()
  await look(page, config, 'rules')

  // a rule for one user; wrong values are told on their fields, and the form keeps its values
  await page.getByRole('button', { name: say.create }).click()
  let dialog = page.getByRole('dialog', { name: say.create })
  await dialog.getByLabel(say.appliesTo).selectOption({ label: say.account })
  await dialog.getByLabel(say.path, { exact: true }).fill(folder.slice(1))
  await dialog.getByText(say.wrongPath).waitFor()
  await dialog.getByText(say.conditions).click()
  await dialog.getByLabel(say.priority, { exact: true }).fill('many')
  await dialog.getByLabel(say.addresses, { exact: true }).fill('10.0.0.x')
  await dialog.getByRole('button', { name: say.create }).click()
  await dialog.getByText(say.noUser).waitFor()
  await dialog.getByText(say.wrongPriority).waitFor()
  await dialog.getByText(say.wrongAddress).waitFor()
  await look(page, config, 'rule-wrong')
  await chooses(dialog, say, friend)
  await dialog.getByLabel(say.path, { exact: true }).fill(`${folder}/**`)
  await dialog.getByText(say.covers(folder), { exact: true }).waitFor()
  await dialog.getByLabel(say.priority, { exact: true }).fill('')
  await dialog.getByLabel(say.addresses, { exact: true }).fill('')
  await dialog.getByRole('button', { name: say.create }).click()
  await dialog.waitFor({ state: 'detached' })
  await notice(page, config, say.saved)
  const allowed = say.accountMay(friend, folder)
  await page.getByRole('row').filter({ hasText: allowed }).waitFor()
  await becomes('whether an element has the focus', () => focused(page), true)

  // a rule that takes rights says from how many
  await page.getByRole('button', { name: say.create }).click()
  dialog = page.getByRole('dialog', { name: say.create })
  await dialog.getByRole('radio', { name: say.deny }).check()
  await dialog.getByLabel(say.path, { exact: true }).fill(`${folder}/**`)
  for (const name of say.permissions) await dialog.getByRole('checkbox', { name }).check()
  await dialog.getByText(say.takes).waitFor()
  await look(page, config, 'rule-takes')
  await dialog.getByRole('button', { name: say.create }).click()
  await dialog.waitFor({ state: 'detached' })
  const denied = say.usersMayNot(folder)
  await page.getByRole('row').filter({ hasText: denied }).waitFor()

  // the rules decide
  for (const [name, sees] of [
    [friend, true],
    [other, false],
  ]) {
    const guest = await stranger(page, { ...config, size: 'desk' })
    await guest.goto(`/app/login?next=${encodeURIComponent(`/app/files${folder}`)}`)
    await signIn(guest, { ...config, username: name })
    if (sees) await guest.getByRole('gridcell', { name: /^plan\.txt/ }).waitFor()
    else {
      await guest.getByRole('heading', { name: say.forbidden }).waitFor()
      await becomes('what a user is told of the rules', () => guest.getByRole('link', { name: say.why }).count(), 0)
    }
    await done(guest)
  }

  // the list, filtered by a path that rules cover; the address holds it
  if (config.size === 'desk') {
    await page.getByRole('searchbox', { name: say.search }).fill(file)
    await page.getByText(say.count(2), { exact: true }).waitFor()
    const rows = await page.getByRole('row').allTextContents()
    equal(
      'the order of evaluation',
      rows.findIndex((row) => row.includes(allowed)) < rows.findIndex((row) => row.includes(denied)),
      true,
    )
    await page.reload()
    await page.getByText(say.count(2), { exact: true }).waitFor()
    await look(page, config, 'rules-filtered')
  }

  // Explain
  await page.getByRole('link', { name: say.explain }).click()
  await page.getByRole('heading', { level: 2, name: say.explain }).waitFor()
  await page.getByLabel(say.path, { exact: true }).fill(file)
  await page.getByRole('radio', { name: say.who, exact: true }).check()
  await page.getByRole('button', { name: say.ask, exact: true }).click()
  await page.getByText(say.noUser).waitFor()
  await chooses(page, say, friend)
  await page.getByRole('button', { name: say.ask, exact: true }).click()
  await page.getByText(say.may(friend, file), { exact: true }).waitFor()
  await page.getByText(say.decides).waitFor()
  await page.getByRole('listitem').filter({ hasText: say.late }).getByText(denied).waitFor()
  await chooses(page, say, other)
  await page.getByRole('button', { name: say.ask, exact: true }).click()
  await page.getByText(say.mayNot(other, file), { exact: true }).waitFor()
  await page.getByRole('listitem').filter({ hasText: say.fits }).getByText(denied).waitFor()
  await look(page, config, 'explain')
  await page.reload() // the question is in the address
  await page.getByText(say.mayNot(other, file), { exact: true }).waitFor()

  // the deciding rule opens; a smaller reach says whom it takes rights from, and the answer follows
  await page.getByRole('button', { name: say.edit(denied) }).click()
  dialog = page.getByRole('dialog', { name: say.editRule })
  await dialog.getByLabel(say.path, { exact: true }).fill(`${folder}/other/**`)
  await dialog.getByRole('button', { name: say.save }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText(say.noRule).waitFor()

  // taking a right away says from whom, and Cancel changes nothing
  await page.getByRole('link', { name: say.back }).click()
  await page.getByRole('button', { name: say.remove(allowed) }).click()
  dialog = page.getByRole('dialog', { name: say.removeTitle })
  await dialog.getByText(say.takesOne(friend)).waitFor()
  await look(page, config, 'rule-delete')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  for (const text of [allowed, say.usersMayNot(`${folder}/other`)]) {
    await page.getByRole('button', { name: say.remove(text) }).click()
    await page.getByRole('dialog').getByRole('button', { name: labels[config.language].delete, exact: true }).click()
    await page.getByRole('row').filter({ hasText: text }).waitFor({ state: 'detached' })
  }
  await notice(page, config, say.deleted)
  await becomes('whether an element has the focus at the end', () => focused(page), true)
  equal('how many rules are left', (await api(page, 'GET', '/api/admin/rules?limit=100')).rules.length, before)
}

// Explain answers for a role, for a key, and for an address.
async function explainsOthers(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Explained', [{ name: 'a.txt', bytes: btoa('a') }])
  const file = `${folder}/a.txt`
  const { rule } = await api(page, 'POST', '/api/admin/rules', {
    pathPattern: `${folder}/**`,
    effect: 'allow',
    role: 'user',
    permissions: ['read'],
    allowedIps: ['192.0.2.0/24'],
  })
  const { key } = await api(page, 'POST', '/api/keys/', {
    name: 'explained',
    permissions: ['read'],
    protocols: ['api'],
  })
  const ask = () => page.getByRole('button', { name: say.ask, exact: true }).click()
  const who = (name) => page.getByRole('radio', { name, exact: true }).check()
  try {
    await page.goto(`/app/admin/rules?explain=1&path=${encodeURIComponent(file)}`)
    await page.getByText(say.mayNot('A visitor', file), { exact: true }).waitFor()
    await who('Role')
    await page.getByLabel('IP address', { exact: true }).fill('192.0.2.7')
    await ask()
    await page.getByText(say.may('A user', file), { exact: true }).waitFor()
    await page.getByText(say.decides).waitFor()
    await page.getByLabel('IP address', { exact: true }).fill('198.51.100.7')
    await ask()
    await page.getByText(say.mayNot('A user', file), { exact: true }).waitFor()
    await page.getByText("Doesn't apply to this IP address.").waitFor()

    await who('API key')
    await page.getByLabel('Key ID', { exact: true }).fill('none')
    await ask()
    await page.getByText('There is no key with this ID.').waitFor()
    await page.getByLabel('Key ID', { exact: true }).fill(key.id)
    await ask()
    await page.getByText(say.may('This key', file), { exact: true }).waitFor()
  } finally {
    await api(page, 'DELETE', `/api/admin/rules/${rule.id}`)
    await api(page, 'DELETE', `/api/keys/${key.id}`)
  }
}

// "From the 403 page that I meet as an administrator one click tells me why." So does the message
// about a refused action, and the menu of each file, for visitors.
async function tellsWhy(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const { username, id } = (await api(page, 'GET', '/api/users/me/settings')).profile
  const folder = await createFolder(page, config, 'Closed', [
    { name: 'closed.txt', bytes: btoa('closed') },
    { name: 'open.txt', bytes: btoa('open') },
    { name: 'kept.txt', bytes: btoa('kept') },
  ])
  await createFolder(page, config, 'Shut', [], folder)
  const kept = { pathPattern: `${folder}/kept.txt`, effect: 'deny', userId: id, permissions: ['delete'] }
  const rules = [(await api(page, 'POST', '/api/admin/rules', kept)).rule.id]
  for (const pathPattern of [`${folder}/closed.txt`, `${folder}/Shut/**`])
    rules.push((await api(page, 'POST', '/api/admin/rules', { pathPattern, effect: 'deny', userId: id })).rule.id)
  try {
    const answer = await page.goto(`${folder}/closed.txt`)
    equal('the status', answer.status(), 403)
    await page.getByRole('heading', { level: 1, name: say.forbidden }).waitFor()
    equal('faults of the page', await inspect(page), [])
    await config.shot('admin-forbidden')
    await page.getByRole('link', { name: say.why }).click()
    await page.getByText(say.mayNotDownload(username, `${folder}/closed.txt`), { exact: true }).waitFor()
    await page.getByText(say.decides).waitFor()
    await page.getByRole('listitem').filter({ hasText: say.fits }).waitFor()

    await page.goto(`/app/files${folder}/Shut`)
    await page.getByRole('link', { name: say.why }).click()
    await page.getByText(say.mayNot(username, `${folder}/Shut`), { exact: true }).waitFor()

    await page.goto(`/app/files${folder}`)
    await fromMenu(page, labels[config.language], /^open\.txt/, say.explain)
    await page.getByText(say.mayNot(say.visitor, `${folder}/open.txt`), { exact: true }).waitFor()
    await until(
      'the path in the field',
      async () => (await page.getByLabel(say.path, { exact: true }).inputValue()) === `${folder}/open.txt`,
    )

    // the link of a message appears also when its code loads after the message
    let load
    const loads = new Promise((resolve) => (load = resolve))
    await page.route(/\/explanation-[^/]*\.js$/, async (route) => {
      await loads
      await route.continue()
    })
    await page.goto(`/app/files${folder}`)
    await page.getByRole('link', { name: /^kept\.txt/ }).click()
    await page.keyboard.press('Delete')
    const notices = page.getByRole('region', { name: labels[config.language].notices })
    await notices.getByText(labels[config.language].lacksDelete).waitFor()
    equal('links to the explanation before their code', await notices.getByRole('button', { name: say.why }).count(), 0)
    load()
    await notices.getByRole('button', { name: say.why }).click()
    await page.getByText(say.mayNotDelete(username, `${folder}/kept.txt`), { exact: true }).waitFor()
    await page.getByText(say.decides).waitFor()

    // a form whose request is refused, and the log
    await page.goto(`/app/files${folder}`)
    await page.getByRole('button', { name: labels[config.language].newFolder }).click()
    await page.getByLabel(labels[config.language].folderName).fill('New')
    const frozen = { pathPattern: `${folder}/New`, effect: 'deny', userId: id, permissions: ['write'] }
    rules.push((await api(page, 'POST', '/api/admin/rules', frozen)).rule.id)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: say.why }).click()
    await page.getByText(say.decides).waitFor()
    await page.goto('/app/admin/logs?failed=true')
    const line = page.getByRole('row').filter({ hasText: `${folder}/closed.txt` })
    await line.first().getByRole('link', { name: say.why }).click()
    await page.getByText(say.mayNotDownload(username, `${folder}/closed.txt`), { exact: true }).waitFor()
  } finally {
    for (const rule of rules) await api(page, 'DELETE', `/api/admin/rules/${rule}`)
  }
}

// By the keyboard alone: make a rule, open its form, ask for an explanation, delete the rule.
async function byKeyboard(page, config) {
  const say = texts[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Keys of rules', [])
  const k = new Keys(page, config, '')
  await page.goto('/app/admin/rules')
  await page.getByText('/uploads/**').first().waitFor()
  await k.to(say.create)
  await k.press('Enter')
  const form = page.getByRole('dialog', { name: say.create })
  await form.waitFor()
  await k.to(say.path)
  await k.type(`${folder}/**`)
  await form.getByText(say.covers(folder), { exact: true }).waitFor()
  await k.press('Enter')
  await form.waitFor({ state: 'detached' })
  await k.at(say.create)
  const rule = page.getByRole('row').filter({ hasText: `${folder}/**` })
  const sentence = (await rule.getByRole('button').first().getAttribute('aria-label')).slice(say.edit('').length)

  await k.closes(say.edit(sentence), page.getByRole('dialog', { name: say.editRule }))

  await k.to(say.explain, 'Shift+Tab')
  await k.press('Enter')
  await page.getByRole('heading', { name: say.explain }).waitFor()
  await k.to(say.path)
  await k.type(folder)
  await k.to(say.ask)
  await k.press('Enter')
  await page.getByText(say.mayNot(say.visitor, folder), { exact: true }).waitFor()
  await k.to(say.back, 'Shift+Tab')
  await k.press('Enter')

  await rule.waitFor()
  const asks = page.getByRole('dialog', { name: say.removeTitle })
  await k.closes(say.remove(sentence), asks)
  await k.press('Enter')
  await asks.waitFor()
  await k.to(say.delete)
  await k.press('Enter')
  await rule.waitFor({ state: 'detached' })
  await until('an element that has the focus', () => focused(page))
}

export const scenarios = [
  { name: 'rules allow and are explained', forms: desksAndPhone, run: allowsAndExplains },
  { name: 'explains for a role, a key and an address', forms: once, run: explainsOthers },
  { name: 'rules by the keyboard', forms: once, run: byKeyboard },
  { name: 'a refusal tells administrators why', forms: bothLanguages, run: tellsWhy },
]
