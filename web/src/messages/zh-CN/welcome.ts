export const welcome = {
  title: "从这里开始",
  upload: "上传文件",
  uploadText: "把文件拖到这里、粘贴图片，或从电脑中选择。",
  picgo: "设置 PicGo",
  picgoText: "写文章时，图片自动上传并得到链接。先创建一个密钥，即可获得 PicGo、PicList、ShareX 和 uPic 的配置。",
  picgoDo: "创建密钥",
};
