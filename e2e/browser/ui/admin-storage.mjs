// Storages and mounts in the administration.
import { clipboard } from './copying.mjs'
import { createFolder } from './files.mjs'
import { bothLanguages } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels, signInAt } from './labels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'
import { api } from './stranger.mjs'

export const texts = {
  'en-US': {
    storage: 'Storage',
    mounts: 'Mounts',
    addStorage: 'Add storage',
    addMount: 'Add mount',
    kind: 'Kind',
    other: 'Other S3-compatible storage',
    aws: 'AWS S3',
    name: 'Name',
    endpoint: 'Endpoint',
    region: 'Region',
    bucket: 'Bucket',
    keyId: 'Access key ID',
    secret: 'Secret access key',
    more: 'More settings',
    uploads: 'Uploads of browsers',
    straight: 'Always straight to the storage',
    noEndpoint: /^Enter https:\/\/ or http:\/\/ with a host/,
    noSecret: 'Enter the secret access key, without spaces.',
    test: (name) => `Test “${name}”`,
    works: 'The storage works.',
    mostlyWorks: "The storage works, but browsers can't use all of it directly.",
    broken: "The storage doesn't work.",
    latency: /A read took \d+ ms\./,
    noCors: /do not allow this site/,
    wrongKeys: /does not accept the keys/,
    again: 'Test again',
    fromBrowser: 'Test from this browser',
    browser: 'From this browser',
    server: 'From the server',
    needsMount: /^Mount this storage first/,
    refused: /can't upload straight to the storage/,
    meanwhile: 'Until then, uploads go through the server.',
    direct: /^This browser uploads straight to the storage\. It took \d+ ms\.$/,
    rules: 'CORS rules for the bucket',
    cli: 'AWS command line',
    reload: 'Reload',
    mountIt: 'Mount it…',
    path: 'Path',
    storageOf: 'Storage',
    priority: 'Priority',
    reserved: /must not begin with a reserved name/,
    hides: 'There are 2 items at this path now. The mount hides them; they reappear when the mount is deleted.',
    covers: /^Would completely cover: bucket/,
    covered: /^Completely covered by “above” \(\/bucket.*\), which has the higher priority \(3 > 0\)\.$/,
    wins: /^Wins over “Files” \(\/\): it has the longer path\.$/,
    editIt: 'Edit',
    edit: (name) => `Edit “${name}”`,
    remove: (name) => `Delete “${name}”`,
    delete: 'Delete',
    usedBy: 'These mounts use this storage. Delete them first:',
    takes: /^This may take rights from up to (all visitors and )?[1-9]\d* accounts?\.$/,
    contains: "This mount has 1 item. If it is a file or a folder with files, the mount can't be deleted.",
    full: 'This mount still contains files. Delete or move them first.',
    private: 'Needs sign-in',
    kept: /^Now \*\*\*\*/,
  },
  'zh-CN': {
    storage: '存储',
    mounts: '挂载点',
    addStorage: '添加存储',
    addMount: '添加挂载点',
    kind: '类型',
    other: '其他 S3 兼容存储',
    aws: 'AWS S3',
    name: '名称',
    endpoint: '端点',
    region: '区域',
    bucket: '存储桶',
    keyId: '访问密钥 ID',
    secret: '私有访问密钥',
    more: '更多设置',
    uploads: '浏览器上传',
    straight: '总是直接上传到存储',
    noEndpoint: /^请输入 https:\/\/ 或 http:\/\/ 加主机的地址/,
    noSecret: '请输入私有访问密钥，不能有空格。',
    test: (name) => `测试“${name}”`,
    works: '存储可用。',
    mostlyWorks: '存储可用，但浏览器不能直接使用它的全部功能。',
    broken: '存储不可用。',
    latency: /一次读取用时 \d+ 毫秒。/,
    noCors: /CORS 规则不允许本站/,
    wrongKeys: /存储不接受此密钥/,
    again: '再次测试',
    fromBrowser: '从此浏览器测试',
    browser: '从此浏览器',
    server: '从服务器',
    needsMount: /^请先挂载此存储/,
    refused: /此浏览器无法直接上传到存储/,
    meanwhile: '在此之前，上传会经过服务器。',
    direct: /^此浏览器可以直接上传到存储，用时 \d+ 毫秒。$/,
    rules: '存储桶的 CORS 规则',
    cli: 'AWS 命令行',
    reload: '重新加载',
    mountIt: '挂载…',
    path: '路径',
    storageOf: '存储',
    priority: '优先级',
    reserved: /第一段不能是系统保留的名称/,
    hides: '此路径下现有 2 个项目。挂载后它们会被遮盖，删除挂载点后重新出现。',
    covers: /^将完全遮盖：bucket/,
    covered: /^被“above”（\/bucket.*）完全遮盖：后者优先级更高（3 > 0）。$/,
    wins: /^优先于“Files”（\/）：路径更长。$/,
    editIt: '编辑',
    edit: (name) => `编辑“${name}”`,
    remove: (name) => `删除“${name}”`,
    delete: '删除',
    usedBy: '以下挂载点正在使用此存储，请先将其删除：',
    takes: /^这可能会收回权限，最多影响(所有访客和)? ?[1-9]\d* 个账户。$/,
    contains: '此挂载点中有 1 个项目。如果其中或其文件夹中有文件，则无法删除此挂载点。',
    full: /^此挂载点中还有文件/,
    private: '需要登录',
    kept: /^当前为 \*\*\*\*/,
  },
}

async function look(page, config, what) {
  equal(`faults of ${what}`, await inspect(page), [])
  equal(`what does not fit in ${what}`, await cramped(page, config), [])
  await config.shot(`admin-${what}`)
}

const row = (page, name) => page.getByRole('row').filter({ hasText: name })

async function section(page, name) {
  await page.getByRole('main').getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { level: 2, name }).waitFor()
}

// otherFaults leaves out the messages of the browser about requests to a store that it has refused.
export const otherFaults = (page) =>
  page.faults().filter((fault) => !/blocked by CORS policy|Content Security Policy|policy: connect-src/.test(fault))

// "I connect a bucket, test it from the server and from this browser, mount it, upload a picture,
// see a wrong secret refused, and remove both again."
async function connects(page, config) {
  const say = texts[config.language]
  const { save, cancel, close } = labels[config.language]
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await signInAt(page, config, '/app/admin/storage')
  await page.getByRole('heading', { level: 2, name: say.storage }).waitFor()
  await row(page, 'local').waitFor()
  const bucket = await config.ask('createBucket')
  const name = `bucket ${config.size} ${config.language}`
  const path = `/bucket-${config.size}`
  await createFolder(page, config, path.slice(1), [], '/')
  for (const below of ['one', 'two']) await createFolder(page, config, below, [], path)
  const dialog = (title) => page.getByRole('dialog', { name: title })
  const submit = (shown) => shown.getByRole('button', { name: save, exact: true }).click()
  const field = (shown, label) => shown.getByLabel(label, { exact: true })

  // the form: the presets of vendors, and its refusals
  await page.getByRole('button', { name: say.addStorage }).click()
  let form = dialog(say.addStorage)
  await field(form, say.kind).selectOption(say.aws)
  await field(form, say.region).fill('eu-west-3')
  await becomes('the endpoint', () => field(form, say.endpoint).inputValue(), 'https://s3.eu-west-3.amazonaws.com')
  await field(form, say.kind).selectOption(say.other)
  await submit(form)
  await form.getByText(say.noEndpoint).waitFor()
  await look(page, config, 'storage-form')
  await field(form, say.name).fill(name)
  await field(form, say.endpoint).fill('http://10.0.0.1:9000')
  await field(form, say.bucket).fill(bucket.Name)
  await field(form, say.keyId).fill(bucket.AccessKey)
  await field(form, say.secret).fill('wrong secret')
  await submit(form)
  await form.getByText(say.noSecret).waitFor()
  await field(form, say.secret).fill('wrong-secret')
  await submit(form)
  await form.getByText(say.noEndpoint).waitFor()
  await field(form, say.endpoint).fill(bucket.Endpoint)
  await form.getByText(say.more).click()
  await field(form, say.uploads).selectOption(say.straight)
  await look(page, config, 'storage-more')
  await submit(form)

  // saved storages are tested: the wrong secret is refused with the reason
  let test = dialog(say.test(name))
  await test.getByText(say.broken).waitFor()
  await test.getByText(say.wrongKeys).waitFor()
  await look(page, config, 'storage-broken')
  await test.getByRole('button', { name: say.editIt, exact: true }).click()
  form = dialog(say.edit(name))
  await form.getByText(say.kept).waitFor()
  await becomes('the shown secret', () => field(form, say.secret).inputValue(), '')
  await field(form, say.secret).fill(bucket.SecretKey)
  await submit(form)
  await test.getByText(say.mostlyWorks).waitFor()
  await test.getByText(say.latency).waitFor()
  await test.getByText(say.noCors).waitFor()
  await test.getByText(say.needsMount).waitFor()
  await look(page, config, 'storage-tested')

  // on to the mount, with the storage chosen
  await test.getByRole('button', { name: say.mountIt, exact: true }).click()
  form = dialog(say.addMount)
  await form.waitFor()
  equal(
    'the chosen storage',
    await field(form, say.storageOf).evaluate((select) => select.selectedOptions[0].text.split(' (')[0]),
    name,
  )
  await field(form, say.path).fill('/api/photos')
  await submit(form)
  await form.getByText(say.reserved).waitFor()
  await field(form, say.path).fill(path)
  await form.getByText(say.hides).waitFor()
  await becomes('the name', () => field(form, say.name).inputValue(), path.slice(1))
  await look(page, config, 'mount-form')
  await submit(form)
  await form.waitFor({ state: 'detached' })
  const mounted = row(page, path)
  await mounted.getByText(say.wins).waitFor()
  await mounted.getByText(say.private).waitFor()

  // from this browser: the page was opened before the storage was added, then CORS refuses, and
  // with the rules it works
  await section(page, say.storage)
  await row(page, name).getByRole('button', { name: say.test(name) }).click()
  test = dialog(say.test(name))
  await test.getByText(say.mostlyWorks).waitFor()
  await test.getByRole('button', { name: say.fromBrowser }).click()
  await test.getByRole('button', { name: say.reload }).click()
  await page.waitForLoadState()
  await test.getByText(say.mostlyWorks).waitFor()
  await test.getByRole('button', { name: say.fromBrowser }).click()
  await test.getByText(say.refused).waitFor()
  await test.getByText(say.meanwhile).waitFor()
  await look(page, config, 'storage-refused')
  const rules = () => test.getByRole('button', { name: new RegExp(`: ${say.rules}$`) }).click()
  const rule = JSON.parse(await clipboard(page, rules))[0]
  equal('the origin', rule.AllowedOrigins, [new URL(page.url()).origin])
  equal('the exposed headers', rule.ExposeHeaders, ['ETag'])
  await test.getByRole('tab', { name: say.cli }).click()
  equal('the rules', JSON.parse(await clipboard(page, rules)).CORSRules, [rule])
  await config.ask('allowSite')
  await test.getByRole('region', { name: say.browser }).getByRole('button', { name: say.again }).click()
  await test.getByText(say.direct).waitFor()
  await test.getByRole('region', { name: say.server }).getByRole('button', { name: say.again }).click()
  await test.getByText(say.works, { exact: true }).waitFor()
  await becomes('the rules on the screen', () => test.getByText(say.rules).count(), 0)
  await look(page, config, 'storage-works')
  await test.getByRole('button', { name: close, exact: true }).last().click()
  await test.waitFor({ state: 'detached' })

  // a picture in the bucket
  const picture = { name: 'lake.png', bytes: png(60, 40, 0.4).toString('base64') }
  await createFolder(page, config, path.slice(1), [picture], '/')
  const [file] = (await api(page, 'GET', `/api/files?path=${path}`)).items
  equal('the picture', file.name, 'lake.png')
  await until('the object in the bucket', async () => (await config.ask('bucketKeys')).length === 1)

  // a second mount on the same path, with a higher priority, covers the first
  await section(page, say.mounts)
  await mounted.waitFor()
  await page.getByRole('button', { name: say.addMount }).click()
  form = dialog(say.addMount)
  await field(form, say.path).fill(path)
  await field(form, say.name).fill('above')
  await field(form, say.priority).fill('3')
  await form.getByText(say.covers).waitFor()
  await form.getByText(say.takes).waitFor()
  await submit(form)
  await page.getByText(say.covered).waitFor()
  await look(page, config, 'mounts')
  const removed = async (what) => {
    await page.getByRole('button', { name: say.remove(what) }).click()
    const asks = dialog(say.remove(what))
    await asks.getByText(say.takes).waitFor()
    await asks.getByRole('button', { name: say.delete, exact: true }).click()
    await asks.waitFor({ state: 'detached' })
  }
  await removed('above')

  // what is in use is not removed
  await section(page, say.storage)
  await row(page, name).getByRole('button', { name: say.remove(name) }).click()
  await dialog(say.remove(name)).getByText(say.usedBy).waitFor()
  await look(page, config, 'storage-used')
  await dialog(say.remove(name)).getByRole('button', { name: cancel, exact: true }).click()
  await section(page, say.mounts)
  await page.getByRole('button', { name: say.remove(path.slice(1)) }).click()
  const asks = dialog(say.remove(path.slice(1)))
  await asks.getByText(say.contains).waitFor()
  await asks.getByRole('button', { name: say.delete, exact: true }).click()
  await asks.getByText(say.full).waitFor()
  await look(page, config, 'mount-full')
  await api(page, 'DELETE', `/api/files/${file.id}`)
  await asks.getByRole('button', { name: say.delete, exact: true }).click()
  await asks.waitFor({ state: 'detached' })
  await mounted.waitFor({ state: 'detached' })

  // the folder that the mount had hidden is there again
  const { items, folder: again } = await api(page, 'GET', `/api/files?path=${path}`)
  equal('the items', items.length, 2)
  await api(page, 'DELETE', `/api/files/${again.id}`)
  await until('an empty bucket', async () => (await config.ask('bucketKeys')).length === 0, 60_000)
  await section(page, say.storage)
  await row(page, name).getByRole('button', { name: say.remove(name) }).click()
  const last = dialog(say.remove(name)).getByRole('button', { name: say.delete, exact: true })
  await until('the removal of the storage', async () => {
    await last.click({ timeout: 1000 }).catch(() => undefined) // the parts of the test may still be there
    return (await row(page, name).count()) === 0
  })
  await look(page, config, 'storage')
  equal('other faults', otherFaults(page), [])
}

export const scenarios = [
  {
    name: 'connects a bucket and mounts it',
    forms: (full) => [...bothLanguages(full), { language: 'en-US', theme: 'dark', size: 'phone' }],
    run: connects,
  },
]
