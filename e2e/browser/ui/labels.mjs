// The visible texts by language. The scenarios find all elements by them.
export const labels = {
  'en-US': {
    username: 'User name', password: 'Password', signIn: 'Sign in', nav: 'Main', wrong: 'The user name or the password is wrong.',
    lost: 'You have been signed out', notFound: 'There is nothing here', forbidden: 'You may not see this', unauthorized: 'Sign in to see this',
    locked: 'This is protected by a password', open: 'Open', wrongPassword: 'That is not the password.', tryLater: (seconds) => `Too many attempts. Try again in ${seconds} s.`, passwordNeeded: 'Password needed', accessPassword: 'Access password', show: 'Show password', account: 'Account', signOut: 'Sign out',
    keys: 'API keys', newKey: 'New key', newKeyTitle: 'New API key', imageClient: 'Image client', keyName: 'Name', createKey: 'Create key', saveNow: 'Save this now. It is not shown again.',
    token: 'Token', configuration: 'Configuration', testPicture: 'Send test picture', works: /^It works: \d+ ms$/, sentPicture: 'The test picture that was just uploaded', haveSaved: 'I have saved it', close: 'Close',
    list: 'List', display: 'Sort and display', search: 'Search', noFolder: 'There is no such folder', cancel: 'Cancel', delete: 'Delete', visit: 'Browse public files', upload: 'Upload',
    emptyFolder: 'This folder is empty', path: 'Location', files: 'Files', up: (name) => `Up to ${name}`, rename: 'Rename', newName: 'New name', more: 'More', moreUploads: 'More ways to upload', uploadFolder: 'Upload folder', pickAgain: /must be picked again/, choose: 'Choose files', uploaded: (n) => (n === 1 ? '1 file uploaded' : `${n} files uploaded`), items: (n) => `${n} items`,
    selectAll: 'Select all', folderDetails: 'Details of this folder', smallTiles: 'Small tiles', commands: 'Command list', find: 'Find an action', noAction: 'No action found',
    moveItemHere: 'Move 1 item here', forChosen: 'Actions for the selection',
    badName: /^A name must not contain slashes/, noPermission: "You don't have permission to change this.", starting: 'The service is starting…',
    inBackground: 'Go on in the background', moving: /^Moving to “public”/, moved: '2 items moved to “public”.',
    player: 'Player', play: 'Play', pause: 'Pause', toViewer: 'Back to the viewer', stop: 'Stop and close',
    link: 'Link', linkText: 'Text of the link', move: 'Move', moveTitle: /^Move / , moveHere: 'Move here',
    language: 'Language', theme: 'Appearance', dark: 'Dark', bySystem: 'Same as system',
    offline: 'You are offline. Uploads wait and go on by themselves.', noNetwork: 'Offline',
    serverPause: /^The server asks for a pause/, resent: /part \d\/8 · expired, [1-4] parts? sent again/, allResent: /% · expired, sent again from the start/, copyLink: 'Copy link', copied: 'Copied',
    download: 'Download', protected: 'Protected by a password', linksCopied: (n) => `${n} links copied.`, notices: 'Notices', skip: 'Skip to the content', actions: 'Actions', newFolder: 'New folder', folderName: 'Name of the folder', create: 'Create', shortcuts: 'Keyboard shortcuts', details: 'Details', hideDetails: 'Hide details',
    moveTo: 'Move to…', copyTo: 'Copy to…', copyTitle: /^Copy /, copyHere: 'Copy here', deleteTitle: /^Delete .*\?$/, appearance: 'Appearance…', appearanceTitle: /^Appearance of/, save: 'Save', title: 'Title',
    filePassword: 'Password…', passwordTitle: /^Access password of/, newPassword: 'New password', setPassword: 'Set password', links: 'Link formats…', direct: 'Direct', temporary: 'Temporary', permanent: 'Permanent', makePermanent: 'Make permanent link',
    qr: 'QR code', qrShown: 'QR code of the link', conflict: 'The name exists already', skipFile: 'Skip', retryAll: 'Retry all', clearList: 'Clear the list', cancelAll: 'Cancel all uploads', stopUploads: 'Cancel uploads', uploads: 'Uploads', showUploads: 'Show the list of uploads',
    forbiddenHere: /^You don't have permission to download this\./, cutDone: /^1 item cut\./, add: 'Add', noView: 'Files of this type cannot be shown here.', noPlay: 'The browser cannot play this file.', formatted: 'Formatted', byHand: 'Manual', bySize: 'Size',
    gone: 'It does not exist, or has been moved or deleted.', unreachable: 'The server cannot be reached.', report: /^When you report this/, stale: /^Part of the page could not be loaded/, reload: 'Reload', announcements: 'Announcements', email: 'E-mail address', showLess: /^Show less: /, showAll: /^Show all: /, revoke: 'Revoke permanent link',
    lacksDelete: "You don't have permission to delete this, or to move it away.", lacksUpdate: "You don't have permission to change this.",
  },
  'zh-CN': {
    username: '用户名', password: '密码', signIn: '登录', nav: '主导航', wrong: '用户名或密码不正确。',
    lost: '登录已失效', notFound: '找不到此页面', forbidden: '没有访问权限', unauthorized: '需要登录',
    locked: '此内容受密码保护', open: '打开', wrongPassword: '密码不正确。', tryLater: (seconds) => `尝试次数过多，请在 ${seconds} 秒后重试。`, passwordNeeded: '需要访问密码', accessPassword: '访问密码', show: '显示密码', account: '账户', signOut: '退出登录',
    keys: 'API 密钥', newKey: '新建密钥', newKeyTitle: '新建 API 密钥', imageClient: '图床客户端', keyName: '名称', createKey: '创建密钥', saveNow: '请立即保存，之后不再显示',
    token: '令牌', configuration: '配置文件', testPicture: '发送测试图片', works: /^成功，用时 \d+ 毫秒$/, sentPicture: '刚刚上传的测试图片', haveSaved: '我已保存', close: '关闭',
    list: '列表', display: '排序和显示', search: '搜索', noFolder: '找不到此文件夹', cancel: '取消', delete: '删除', visit: '浏览公开文件', upload: '上传',
    emptyFolder: '此文件夹是空的', path: '当前位置', files: '文件', up: (name) => `返回上一级：${name}`, rename: '重命名', newName: '新名称', more: '更多', moreUploads: '更多上传方式', uploadFolder: '上传文件夹', uploaded: (n) => `${n} 个文件已上传`, items: (n) => `${n} 项`,
    selectAll: '全选', folderDetails: '此文件夹的详细信息', smallTiles: '小图块', commands: '命令列表', find: '查找操作', noAction: '没有找到操作',
    moveItemHere: '将 1 项移动到这里', forChosen: '所选项目的操作',
    badName: /^不能使用此名称/, noPermission: '您没有此项目的“修改”权限。', starting: '服务正在启动…',
    inBackground: '在后台继续', moving: /^正在移动到“public”/, moved: '已将 2 项移动到“public”。',
    player: '播放器', play: '播放', pause: '暂停', toViewer: '返回查看器', stop: '停止并关闭',
    link: '链接', linkText: '链接文本', move: '移动', moveTitle: /^移动/, moveHere: '移动到这里',
    language: '语言', theme: '外观', dark: '深色', bySystem: '跟随系统',
    download: '下载', notices: '通知', skip: '跳到主要内容', actions: '操作', newFolder: '新建文件夹', folderName: '文件夹名称', create: '创建', shortcuts: '键盘快捷键', details: '详细信息', hideDetails: '隐藏详细信息',
    moveTo: '移动到…', copyTo: '复制到…', copyTitle: /^复制 /, copyHere: '复制到这里', deleteTitle: /^删除 .*？$/, appearance: '外观…', appearanceTitle: /的外观$/, save: '保存', title: '显示标题',
    filePassword: '访问密码…', passwordTitle: /的访问密码$/, newPassword: '新密码', setPassword: '设置密码', links: '链接格式…', direct: '直链', temporary: '临时', permanent: '永久', makePermanent: '生成永久链接',
    qr: '二维码', qrShown: '链接的二维码', conflict: '文件名已存在', skipFile: '跳过', retryAll: '全部重试', clearList: '清空列表', cancelAll: '取消全部上传', stopUploads: '取消上传', uploads: '上传', showUploads: '展开上传列表',
    forbiddenHere: /^您没有此项目的“下载”权限。/, cutDone: /^已剪切 1 项/, add: '添加', noView: '此类文件无法预览。', noPlay: '浏览器无法播放此文件。', formatted: '排版', byHand: '手动排序', bySize: '大小',
    lacksDelete: '您没有此项目的“删除”权限，因此不能删除或移动。', lacksUpdate: '您没有此项目的“修改”权限。',
  },
}

// signIn signs in by visible labels.
export async function signIn(page, { language, username, password }) {
  const say = labels[language]
  await page.getByLabel(say.username, { exact: true }).fill(username)
  await page.getByLabel(say.password, { exact: true }).fill(password)
  await page.getByRole('button', { name: say.signIn, exact: true }).click()
}
