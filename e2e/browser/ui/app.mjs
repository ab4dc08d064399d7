// The installed app: a start without a connection, files of other apps, the number on its icon, the
// camera, and the service worker of another build. Only these scenarios run with the worker.
import { createFolder, enter } from './files.mjs'
import { bothLanguages, bothPhones, everyWith, once } from './forms.mjs'
import { becomes, equal, give, inspect, until } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'

const texts = {
  'en-US': {
    unreachable: "Can't reach the server",
    disconnected: "You're offline. Uploads continue when you're back online.",
    title: 'Upload 2 files',
    one: 'Upload 1 file',
    toAccount: (name) => `To the account “${name}”`,
    find: 'Find a folder',
    here: 'Upload here',
    onlyFiles: 'Only files can be stored here',
    gone: 'No files are waiting',
    toFiles: 'Go to files',
    photo: 'Take a photo',
    uploads: 'Uploads',
    pauseFile: (name) => `Pause ${name}`,
    resumeFile: (name) => `Resume ${name}`,
    install: 'Install the app',
    settings: 'Settings',
  },
  'zh-CN': {
    unreachable: '无法连接到服务器',
    disconnected: '网络已断开。上传已暂停，恢复连接后会自动继续。',
    title: '上传 2 个文件',
    one: '上传 1 个文件',
    toAccount: (name) => `上传到账户“${name}”`,
    find: '查找文件夹',
    here: '上传到这里',
    onlyFiles: '这里只能存储文件',
    gone: '没有待上传的文件',
    toFiles: '前往文件',
    photo: '拍照',
    uploads: '上传',
    pauseFile: (name) => `暂停 ${name}`,
    resumeFile: (name) => `继续 ${name}`,
    install: '安装应用',
    settings: '设置',
  },
}

const words = (config) => ({ ...labels[config.language], ...texts[config.language] })
const cell = (page, name) => page.getByRole('gridcell', { name: new RegExp(`^${name.replace('.', '\\.')}`) })

// starts signs in, and waits until the worker controls the page.
async function starts(page, config) {
  await enter(page, config, '')
  await until('the worker', () => page.evaluate(() => navigator.serviceWorker.controller?.state === 'activated'))
}

// sends submits files to the app, as the system does when the user shares them in another app.
const sends = (page, files) =>
  Promise.all([
    page.waitForEvent('load'),
    page.evaluate((files) => {
      const form = Object.assign(document.createElement('form'), {
        action: '/app/share-target',
        method: 'post',
        enctype: 'multipart/form-data',
      })
      const input = Object.assign(document.createElement('input'), { type: 'file', name: 'files', multiple: true })
      const data = new DataTransfer()
      for (const { name, bytes } of files) {
        const content = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))
        data.items.add(new File([content], name, { type: 'image/png' }))
      }
      input.files = data.files
      form.append(input)
      document.body.append(form)
      form.submit()
    }, files),
  ])

// count returns the number of rows in a table of the browser's database; it creates a missing one.
const count = (page, database, table, keyPath) =>
  page.evaluate(
    ([database, table, keyPath]) =>
      new Promise((resolve) => {
        const request = indexedDB.open(database, 1)
        request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath })
        request.onsuccess = () => {
          const rows = request.result.transaction(table).objectStore(table).count()
          rows.onsuccess = () => {
            request.result.close()
            resolve(rows.result)
          }
        }
      }),
    [database, table, keyPath],
  )

// kept returns the number of files that the worker keeps.
const kept = (page) => count(page, 'larder-received', 'files', 'key')

// bytesOf returns the content of a stored file in base64.
const bytesOf = (page, path) =>
  page.evaluate(async (path) => {
    const answer = await fetch(path)
    if (!answer.ok) return `status ${answer.status}`
    return btoa(String.fromCharCode(...new Uint8Array(await answer.arrayBuffer())))
  }, path.split('/').map(encodeURIComponent).join('/'))

// picks finds a folder in the picker of folders and chooses it.
async function picks(page, say, path) {
  await page.getByRole('searchbox', { name: say.find }).fill(path)
  const name = path.split('/').at(-1)
  await page.getByRole('treeitem', { name: new RegExp(`^${name}`), selected: true }).waitFor()
}

async function offline(page, config) {
  const say = words(config)
  await starts(page, config)
  const folder = await createFolder(page, config, `Offline ${config.language}`, [{ name: 'a.txt', bytes: btoa('a') }])
  const answers = new Map()
  page.on('response', (response) => answers.set(new URL(response.url()).pathname, response.fromServiceWorker()))
  await page.goto(`/app/files${folder}`)
  await cell(page, 'a.txt').waitFor()
  equal('the content', await bytesOf(page, `${folder}/a.txt`), btoa('a'))
  const answered = (prefix) => [...answers].filter(([path]) => path.startsWith(prefix))
  for (const [prefix, worker] of [
    ['/app/files/', true],
    ['/app/assets/', true],
    ['/api/', false],
    ['/home/', false],
  ]) {
    equal(`whether there are answers for ${prefix}`, answered(prefix).length > 0, true)
    equal(`the others for ${prefix}`, answered(prefix).filter(([, by]) => by !== worker), [])
  }

  await page.context().setOffline(true)
  await page.goto('/app/settings/profile')
  await page.getByRole('heading', { name: 'Larder' }).waitFor()
  await page.getByText(say.unreachable).waitFor()
  await page.getByText(say.disconnected).waitFor()
  equal('faults without a connection', await inspect(page), [])
  equal('whether the name of the user is shown', (await page.innerText('body')).includes(config.username), false)
  const cached = await page.evaluate(async () => {
    const all = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()))
    return all.flat().map(({ url }) => new URL(url).pathname)
  })
  equal('the pages in the cache', cached.filter((path) => !path.startsWith('/app/assets/')), ['/app/'])
  await config.shot('offline')
  const failed = (path) =>
    page.evaluate(
      (path) =>
        fetch(path).then(
          ({ status }) => `status ${status}`,
          () => 'failed',
        ),
      path,
    )
  equal('the interface', await failed('/api/public/settings'), 'failed')
  equal('a stored file', await failed(`${folder}/a.txt`), 'failed')
  await page.context().setOffline(false)
  await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Larder' }).waitFor()
  equal('the address', new URL(page.url()).pathname, '/app/settings/profile')
}

async function receives(page, config) {
  const say = words(config)
  await starts(page, config)
  const { language, theme, size } = config
  const folder = await createFolder(page, config, `Received ${language} ${theme} ${size}`, [])
  const first = png(64, 48, 0.1).toString('base64')
  const second = png(64, 48, 0.7).toString('base64')
  await sends(page, [
    { name: 'IMG 1.png', bytes: first },
    { name: 'IMG 1.png', bytes: second },
  ])
  await page.getByRole('heading', { level: 1, name: say.title }).waitFor()
  await page.getByText(say.toAccount(config.username)).waitFor()
  await page.getByText('IMG 1 (2).png').waitFor()
  equal('how many are kept', await kept(page), 2)
  equal('faults of the question', await inspect(page), [])
  equal('what is cramped', await cramped(page, config), [])
  await config.shot('received')
  await picks(page, say, folder)
  await page.getByRole('button', { name: say.here }).click()
  await page.waitForURL((url) => decodeURIComponent(url.pathname) === `/app/files${folder}`)
  await cell(page, 'IMG 1.png').waitFor()
  await page.getByRole('gridcell', { name: /^IMG 1 \(2\)\.png/ }).waitFor()
  await becomes('how many are kept afterwards', () => kept(page), 0)
  equal('the first file', await bytesOf(page, `${folder}/IMG 1.png`), first)
  equal('the second file', await bytesOf(page, `${folder}/IMG 1 (2).png`), second)

  // the next question begins with that folder
  await sends(page, [{ name: 'IMG 2.png', bytes: first }])
  await page.getByRole('heading', { level: 1, name: say.one }).waitFor()
  await page.getByRole('treeitem', { name: folder.split('/').at(-1), exact: true, selected: true }).waitFor()
  await page.getByRole('button', { name: say.cancel, exact: true }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/app/files'))
  await becomes('how many are kept after the refusal', () => kept(page), 0)
}

// The user is signed out, sends something else than files, and comes too late.
async function waits(page, config) {
  const say = words(config)
  await starts(page, config)
  await page.context().clearCookies()
  await sends(page, [{ name: 'late.png', bytes: png(8, 8).toString('base64') }])
  await page.waitForURL((url) => url.pathname === '/app/login')
  await signIn(page, config)
  await page.getByRole('heading', { level: 1, name: say.one }).waitFor()
  await page.getByText('late.png').waitFor()
  await page.getByRole('button', { name: say.cancel, exact: true }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/app/files'))
  await becomes('how many are kept', () => kept(page), 0)

  await sends(page, [])
  await page.getByRole('heading', { name: say.onlyFiles }).waitFor()
  equal('faults of the refusal', await inspect(page), [])
  await config.shot('only-files')
  await page.goto('/app/share-target?delivery=none')
  await page.getByRole('heading', { name: say.gone }).waitFor()
  await page.getByRole('link', { name: say.toFiles }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/app/files'))
}

// Uploads of received files that the end of the page interrupts go on at the next start; a paused
// one waits for the user.
async function goesOn(page, config) {
  const say = words(config)
  page.on('dialog', (dialog) => void dialog.accept()) // the page asks before it is left
  await starts(page, config)
  const folder = await createFolder(page, config, `Interrupted ${config.language}`, [])
  const bytes = png(64, 48, 0.4).toString('base64')
  await sends(page, [
    { name: 'kept.png', bytes },
    { name: 'paused.png', bytes },
  ])
  await page.getByRole('heading', { level: 1, name: say.title }).waitFor()
  await picks(page, say, folder)
  await page.context().setOffline(true)
  await page.getByRole('button', { name: say.here }).click()
  const uploads = page.getByRole('region', { name: say.uploads })
  await uploads.getByRole('button', { name: say.pauseFile('paused.png') }).click()
  const resume = uploads.getByRole('button', { name: say.resumeFile('paused.png') })
  await resume.waitFor()
  await becomes('the stored uploads', () => count(page, 'larder-uploads', 'items', 'id'), 2)
  await page.reload()
  await page.getByText(say.unreachable).waitFor()
  await page.context().setOffline(false)
  await cell(page, 'kept.png').waitFor()
  equal('the file', await bytesOf(page, `${folder}/kept.png`), bytes)
  await becomes('how many are kept', () => kept(page), 1)
  await resume.click()
  await cell(page, 'paused.png').waitFor()
  await becomes('how many are kept at the end', () => kept(page), 0)
}

async function badge(page, config) {
  const say = words(config)
  await page.addInitScript(() => {
    window.badges = []
    navigator.setAppBadge = async (n) => void window.badges.push(n)
    navigator.clearAppBadge = async () => void window.badges.push(0)
  })
  await enter(page, config, '')
  await page.goto(`/app/files${await createFolder(page, config, `Badge ${config.language}`, [])}`)
  let release
  const released = new Promise((resolve) => (release = resolve))
  await page.route('**/api/files/upload-session', async (route) => {
    await released
    await route.continue()
  })
  const files = ['one', 'two', 'three'].map((name) => ({
    name: `${name}.txt`,
    mimeType: 'text/plain',
    buffer: Buffer.from(name),
  }))
  await give(page, () => page.getByRole('button', { name: say.upload, exact: true }).first().click(), files)
  const last = () => page.evaluate(() => window.badges.at(-1))
  await becomes('the number at the start', last, 3)
  release()
  for (const { name } of files) await cell(page, name).waitFor()
  await becomes('the number at the end', last, 0)
}

async function photographs(page, config) {
  const say = words(config)
  await enter(page, config, '')
  await page.goto(`/app/files${await createFolder(page, config, `Camera ${config.language}`, [])}`)
  await page.getByRole('button', { name: say.add, exact: true }).click()
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('menuitem', { name: say.photo }).click(),
  ])
  equal('the camera', await chooser.element().getAttribute('capture'), 'environment')
  equal('the kind', await chooser.element().getAttribute('accept'), 'image/*')
  equal('whether it takes one', chooser.isMultiple(), false)
  await chooser.setFiles({ name: 'image.png', mimeType: 'image/png', buffer: png(8, 8) })
  await page.getByRole('gridcell', { name: /^\d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png/ }).waitFor()
}

// The menu of the account offers to install the app where the browser does.
async function installs(page, config) {
  const say = words(config)
  await enter(page, config, '')
  const account = page.getByRole('button', { name: new RegExp(`^${say.account}`) })
  await account.click()
  await page.getByRole('menuitem', { name: say.settings, exact: true }).waitFor()
  equal('the offers at first', await page.getByRole('menuitem', { name: say.install }).count(), 0)
  await page.keyboard.press('Escape')
  await page.evaluate(() => {
    const event = new Event('beforeinstallprompt')
    event.prompt = async () => void (window.asked = (window.asked ?? 0) + 1)
    window.dispatchEvent(event)
  })
  await account.click()
  await page.getByRole('menuitem', { name: say.install }).click()
  equal('how often the browser asks', await page.evaluate(() => window.asked), 1)
  await account.click()
  await page.getByRole('menuitem', { name: say.settings, exact: true }).waitFor()
  equal('the offers afterwards', await page.getByRole('menuitem', { name: say.install }).count(), 0)
}

// A page comes from the network although the worker has one, and the worker of the next build
// replaces that of the previous one with all that it has kept.
async function upgrades(page, config) {
  const address = await config.ask('startBuilds')
  await page.goto(`${address}/app/login`)
  await signIn(page, config)
  await until('the worker', () => page.evaluate(() => navigator.serviceWorker.controller?.state === 'activated'))
  const caches = () => page.evaluate(() => window.caches.keys())
  const [before, ...others] = await caches()
  equal('the form of the name', /^larder-ui-[0-9a-f]{8}$/.test(before), true)
  equal('the caches of others', others, [])
  await config.ask('nextBuild', before.replace('larder-ui-', ''))
  const answer = await page.goto(`${address}/app/files`)
  equal('whether the worker answers', answer.fromServiceWorker(), true)
  equal('the build of the page', answer.headers()['x-build'], 'next')
  await becomes('the caches', caches, ['larder-ui-99999999'], 30_000)
}

// The manifest is complete, and the browser finds no fault in it.
async function manifest(page) {
  await page.goto('/app/login')
  const session = await page.context().newCDPSession(page)
  const { url, errors, data } = await session.send('Page.getAppManifest')
  equal('the address', new URL(url).pathname, '/app/manifest.webmanifest')
  equal('the errors', errors, [])
  const { icons, ...rest } = JSON.parse(data)
  equal('the manifest', rest.name, 'Larder')
  equal('the scope', [rest.id, rest.scope, rest.start_url, rest.display], ['/app/', '/app/', '/app/', 'standalone'])
  equal('the target', [rest.share_target.action, rest.share_target.method], ['/app/share-target', 'POST'])
  equal(
    'the icons',
    icons.map(({ sizes, purpose }) => `${sizes} ${purpose}`),
    ['192x192 any', '512x512 any', '512x512 maskable', 'any any'],
  )
  const sizes = await page.evaluate(
    (icons) =>
      Promise.all(
        icons.map(async ({ src }) => {
          const image = Object.assign(new Image(), { src })
          await image.decode()
          return image.naturalWidth
        }),
      ),
    icons.slice(0, 3),
  )
  equal('the sizes of the icons', sizes, [192, 512, 512])
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors')
  equal(
    'what keeps the browser from installing it',
    installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'),
    [],
  )
}

export const scenarios = [
  { name: 'the app starts without a connection', forms: bothLanguages, run: offline, worker: true },
  { name: 'files of another app are uploaded', forms: everyWith('narrow', 'medium', 'wide'), run: receives, worker: true },
  { name: 'files of another app wait for the sign-in', forms: bothLanguages, run: waits, worker: true },
  { name: 'an upload of files of another app goes on', forms: bothLanguages, run: goesOn, worker: true },
  { name: 'the icon shows how many files wait', forms: bothLanguages, run: badge },
  { name: 'a phone takes photos', forms: bothPhones, run: photographs },
  { name: 'the app can be installed', forms: once, run: manifest, worker: true },
  { name: 'the menu offers to install the app', forms: bothLanguages, run: installs },
  { name: 'the worker of the next build takes over', forms: once, run: upgrades, worker: true },
]
